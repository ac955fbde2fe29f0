// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profilejson

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"
)

// output is buffered text. After an error it takes no more.
type output struct {
	w       *bufio.Writer
	n       int64
	err     error
	scratch []byte
}

func newOutput(w io.Writer) *output { return &output{w: bufio.NewWriterSize(w, 32<<10)} }

func (o *output) bytes(text []byte) {
	if o.err != nil {
		return
	}
	n, err := o.w.Write(text)
	o.n += int64(n)
	o.err = err
}

func (o *output) text(s string) {
	if o.err != nil {
		return
	}
	n, err := o.w.WriteString(s)
	o.n += int64(n)
	o.err = err
}

func (o *output) number(n int64) {
	o.scratch = strconv.AppendInt(o.scratch[:0], n, 10)
	o.bytes(o.scratch)
}

// close ends the document with a line feed, as text for a terminal should.
func (o *output) close() (int64, error) {
	o.text("\n")
	if o.err == nil {
		o.err = o.w.Flush()
	}
	return o.n, o.err
}

func appendField(text []byte, key, value string) []byte {
	return appendString(append(text, key...), value)
}

func appendNumber(text []byte, key string, value int64) []byte {
	return strconv.AppendInt(append(text, key...), value, 10)
}

// appendString appends a JSON string. Characters that only HTML cares for stay as
// they are: operator<< is a function, and the answer is no page.
func appendString(text []byte, s string) []byte {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string can be encoded, whatever is in it
	return append(text, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}
