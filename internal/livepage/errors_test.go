// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package livepage

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var begun = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestTheSameErrorIsOne(t *testing.T) {
	var errs Errors
	errs.Add("down", "first", begun)
	errs.Add("broken", "", begun.Add(time.Second))
	errs.Add("down", "second", begun.Add(2*time.Second))
	assert.Equal(t, []Error{
		{What: "down", Detail: "second", Times: 2, First: begun, Last: begun.Add(2 * time.Second)},
		{What: "broken", Times: 1, First: begun.Add(time.Second), Last: begun.Add(time.Second)},
	}, errs.List())
}

func TestTheLastErrorsAreKept(t *testing.T) {
	var errs Errors
	for i := range 100 {
		now := begun.Add(time.Duration(i) * time.Second)
		errs.Add(fmt.Sprint("error ", i), "", now)
		errs.Add("again and again", "", now)
	}
	list := errs.List()
	require.Len(t, list, mostErrors)
	assert.Equal(t, "error 99", list[1].What)
	assert.Equal(t, "error 81", list[mostErrors-1].What)
	assert.Equal(t, Error{What: "again and again", Times: 100, First: begun, Last: begun.Add(99 * time.Second)}, list[0])
}

func TestLongErrorsAreCut(t *testing.T) {
	var errs Errors
	errs.Add("x", strings.Repeat("x", longestText-1)+"€"+strings.Repeat("x", 1<<20), begun)
	detail := errs.List()[0].Detail
	assert.True(t, utf8.ValidString(detail))
	assert.Equal(t, strings.Repeat("x", longestText-1)+"…", detail)
}
