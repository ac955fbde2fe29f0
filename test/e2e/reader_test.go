// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long a reader on a busy machine waits until a command shows what the page says.
const patience = 3 * time.Minute

// serving are the beginnings of commands that a reader leaves running and turns to another terminal, and
// where each then answers.
var serving = []struct{ command, url string }{
	{"make run", "http://localhost:9464/metrics"},
	{"dist/otelcol-profiletometrics --config", "http://localhost:9464/metrics"},
	{"prometheus ", "http://localhost:9090/-/ready"},
	{"go run ./test/programs/gobusy", "http://localhost:6060/debug/pprof/"},
	{"curl localhost:6060/allocate 'localhost:6060/burn", ""},
}

// reader does what a page says: writes its files, types its commands, and compares what it shows.
type reader struct {
	*testing.T
	directory string // where the next command runs
	env       []string
	// before is called with each command, before it runs.
	before    func(command string)
	collector *process
}

// follow does what the part of a Markdown text says, in order.
func (r *reader) follow(text string) {
	r.Helper()
	for _, step := range stepsOf(text) {
		if strings.Contains(step.prose, "Ctrl-C") {
			require.NotNil(r, r.collector, "there is no collector that Ctrl-C could end")
			r.end(r.collector, syscall.SIGINT)
		}
		switch step.language {
		case "sh":
			for _, c := range commands(step.block) {
				r.do(c)
			}
		case "console":
			r.do(consoleCommand(step.block))
		case "yaml":
			if file := namedFile(step.prose); file != "" {
				require.NoError(r, os.WriteFile(filepath.Join(r.directory, file), []byte(step.block), 0o600))
			}
		}
	}
}

// command is one that the page has, and a pattern of what it shows, nil if the page does not say.
type command struct {
	text string
	want *regexp.Regexp
}

func (r *reader) do(c command) {
	r.Helper()
	r.before(c.text)
	for _, s := range serving {
		if strings.HasPrefix(c.text, s.command) {
			p := r.leaveRunning(c.text)
			if s.url != "" {
				p.awaitServing(r.T, s.url)
			}
			return
		}
	}
	if c.want == nil {
		output, err := r.run(c.text)
		require.NoError(r, err, "%s\n%s", c.text, output)
		return
	}
	var output string
	require.Eventually(r, func() bool {
		output, _ = r.run(c.text) // fails as long as nothing serves
		return c.want.MatchString(output)
	}, patience, time.Second, "$ %s\nshows no %s", c.text, c.want)
	r.Logf("%s $ %s\n%s", time.Now().Format(time.TimeOnly), c.text, c.want.FindString(output))
}

// run types a command, and stays in the directory that it goes to.
func (r *reader) run(text string) (output string, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	where := filepath.Join(r.TempDir(), "where")
	shell := exec.CommandContext(ctx, "bash", "-c", "set -e\n"+text+"\npwd >\"$WHERE\"")
	shell.Dir = r.directory
	shell.Env = append(append(os.Environ(), r.env...), "WHERE="+where)
	result, err := shell.CombinedOutput()
	if directory, readErr := os.ReadFile(where); readErr == nil {
		r.directory = strings.TrimSuffix(string(directory), "\n")
	}
	return string(result), err
}

// leaveRunning starts a command in a terminal of its own, until the test ends.
func (r *reader) leaveRunning(text string) *process {
	r.Helper()
	r.Logf("%s $ %s", time.Now().Format(time.TimeOnly), text)
	shell := exec.Command("bash", "-c", text)
	shell.Dir = r.directory
	shell.Env = append(os.Environ(), r.env...)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what Ctrl-C ends together
	p := &process{name: text, cmd: shell, ended: make(chan struct{})}
	shell.Stdout, shell.Stderr = &p.output, &p.output
	require.NoError(r, shell.Start())
	go func() {
		defer close(p.ended)
		p.err = shell.Wait()
	}()
	r.Cleanup(func() {
		r.end(p, syscall.SIGTERM)
		if r.Failed() {
			r.Logf("output of %s:\n%s", p.name, p.output.String())
		}
	})
	if strings.Contains(text, "otelcol-profiletometrics") || strings.HasPrefix(text, "make run") {
		r.collector = p
	}
	return p
}

// end sends a signal to all that a command has started, and waits for it.
func (r *reader) end(p *process, signal syscall.Signal) {
	r.Helper()
	_ = syscall.Kill(-p.cmd.Process.Pid, signal) // fails if it has ended, which is what is wanted
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		assert.Fail(r, p.name+" does not end")
	}
}

// step is a fenced block, and the text between it and the one before.
type step struct {
	prose, language, block string
}

func stepsOf(text string) []step {
	var result []step
	var current step
	var lines strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && !fenced:
			current = step{prose: lines.String(), language: fence}
		case isFence:
			current.block = lines.String()
			result = append(result, current)
		default:
			lines.WriteString(line)
			continue
		}
		fenced = !fenced
		lines.Reset()
	}
	return result
}

// commands returns those of a block of shell, each on a line, which a backslash at its end or an open
// quote continues.
func commands(block string) []command {
	var result []command
	var open string
	for line := range strings.Lines(block) {
		open += line
		if !strings.HasSuffix(line, "\\\n") && strings.Count(open, "'")%2 == 0 {
			result = append(result, command{text: strings.TrimSpace(open)})
			open = ""
		}
	}
	return result
}

// consoleCommand is the command after the prompt in a block, and what the block says that it shows.
func consoleCommand(block string) command {
	text, output, _ := strings.Cut(strings.TrimPrefix(block, "$ "), "\n")
	return command{text: text, want: shown(output)}
}

var number = regexp.MustCompile(`\d+\\\.\d+`)

// shown returns the pattern of an output: "…" is any text, on a line of its own any lines, and a number
// with a decimal point is any number.
func shown(output string) *regexp.Regexp {
	var pattern strings.Builder
	pattern.WriteString("^")
	for line := range strings.Lines(output) {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		line = strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")), "…", ".*")
		pattern.WriteString(number.ReplaceAllString(line, `[0-9.e+-]+`) + `\n`)
	}
	return regexp.MustCompile(pattern.String())
}

var fileName = regexp.MustCompile("`([\\w.-]+\\.ya?ml)`")

// namedFile returns the file that the last paragraph tells to write.
func namedFile(prose string) string {
	paragraphs := strings.Split(strings.TrimSpace(prose), "\n\n")
	last := paragraphs[len(paragraphs)-1]
	names := fileName.FindAllStringSubmatch(last, -1)
	if len(names) == 0 || !strings.Contains(strings.ToLower(last), "write") {
		return ""
	}
	return names[len(names)-1][1]
}

func TestWhatAConsoleShows(t *testing.T) {
	c := consoleCommand("$ list | grep -v x\n…\n{name=\"a\",…} 0.03\n…\n")
	assert.Equal(t, "list | grep -v x", c.text)
	assert.True(t, c.want.MatchString("first\n{name=\"a\",job=\"b\"} 12.5e-05\nlast\n"))
	assert.True(t, c.want.MatchString("{name=\"a\",} 1\n"))
	assert.False(t, c.want.MatchString("{name=\"b\",} 1\n"), "another name")
	assert.False(t, c.want.MatchString("{name=\"a\",} one\n"), "no number")
	assert.False(t, consoleCommand("$ list\na\n").want.MatchString("b\na\n"), "more than is shown")
}

func TestCommandsOfABlock(t *testing.T) {
	block := "cd here\nlist \\\n  --all\npatch '{\n}'\n"
	assert.Equal(t, []command{{text: "cd here"}, {text: "list \\\n  --all"}, {text: "patch '{\n}'"}}, commands(block))
}

func TestFilesThatAPageTellsToWrite(t *testing.T) {
	assert.Equal(t, "mine.yaml", namedFile("Stop it.\n\nWrite this as `mine.yaml`:\n"))
	assert.Empty(t, namedFile("Write `mine.yaml`.\n\nThis is what it means:\n"), "another paragraph")
	assert.Empty(t, namedFile("`make run` starts `config.yaml`:\n"), "not to be written")
}
