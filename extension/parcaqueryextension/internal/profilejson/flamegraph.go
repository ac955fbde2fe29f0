// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profilejson

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/google/pprof/profile"
)

// Flamegraph is a tree of the calls in a profile, merged by call path: each node
// is a function called along one path from the root, its value the weight of all
// samples taken there or below. The root's value is that of the whole profile.
//
// As JSON, a node is {name, system_name, filename, start_line, value, children}.
type Flamegraph struct {
	heads [][]byte // what stands before a node's value, by frame
	nodes []node   // the root first
	// Those of the nodes without the root, such that siblings stand together.
	order []int32
	// Where a node's children begin in order; they end where the next node's begin.
	children []int32
}

type node struct {
	frame  int32
	parent int32
	value  int64
}

const (
	root       = 0
	nodeBefore = `,"children":[`
	nodeAfter  = `]}`
	// nodeMin is the least that a node adds to what stands before its value.
	nodeMin = len("0" + nodeBefore + nodeAfter)
)

// NewFlamegraph builds the flame graph of a valid profile, or fails with
// ErrTooLarge if its text would have more than limit bytes, or with the error of
// ctx.
func NewFlamegraph(ctx context.Context, p *profile.Profile, limit int64) (*Flamegraph, error) {
	weights, err := newWeights(p)
	if err != nil {
		return nil, err
	}
	b := newTreeBuilder(newBudget(ctx, limit))
	for _, s := range p.Sample {
		if err := b.add(s.Location, weights.of(s)); err != nil {
			return nil, err
		}
	}
	return b.build(), nil
}

// treeBuilder adds stacks to a tree.
type treeBuilder struct {
	budget *budget
	frames *frameTable
	heads  [][]byte
	nodes  []node
	known  map[call]int32 // the node of a call
}

// call is a function called by a node.
type call struct{ parent, frame int32 }

func newTreeBuilder(b *budget) *treeBuilder {
	tree := &treeBuilder{budget: b, frames: newFrameTable(functionOf), known: map[call]int32{}}
	tree.nodes = []node{{frame: tree.frames.number(frame{name: "root"}), parent: -1}}
	return tree
}

func functionOf(l *profile.Location, line profile.Line) frame {
	f := frame{name: functionName(l, line)}
	if line.Function != nil {
		f.systemName = line.Function.SystemName
		f.file = line.Function.Filename
		f.startLine = line.Function.StartLine
	}
	return f
}

// add puts a weight on each call of a stack, which is leaf first.
func (b *treeBuilder) add(stack []*profile.Location, weight int64) error {
	at := int32(root)
	b.nodes[at].value = add(b.nodes[at].value, weight)
	for _, location := range slices.Backward(stack) {
		for _, f := range b.frames.of(location) {
			next, err := b.step(call{parent: at, frame: f})
			if err != nil {
				return err
			}
			at = next
			b.nodes[at].value = add(b.nodes[at].value, weight)
		}
	}
	return nil
}

func (b *treeBuilder) step(c call) (int32, error) {
	if err := b.budget.step(); err != nil {
		return 0, err
	}
	if n, known := b.known[c]; known {
		return n, nil
	}
	if err := b.budget.spend(len(b.head(c.frame)) + nodeMin); err != nil {
		return 0, err
	}
	n := int32(len(b.nodes))
	b.known[c] = n
	b.nodes = append(b.nodes, node{frame: c.frame, parent: c.parent})
	return n, nil
}

// head is what stands before the value of each node of a frame.
func (b *treeBuilder) head(number int32) []byte {
	for i := int32(len(b.heads)); i <= number; i++ {
		f := b.frames.frames[i]
		text := appendField(nil, `{"name":`, f.name)
		text = appendField(text, `,"system_name":`, f.systemName)
		text = appendField(text, `,"filename":`, f.file)
		text = appendNumber(text, `,"start_line":`, f.startLine)
		b.heads = append(b.heads, append(text, `,"value":`...))
	}
	return b.heads[number]
}

// build orders the nodes: siblings by weight, then by what they are called.
func (b *treeBuilder) build() *Flamegraph {
	b.head(b.nodes[root].frame) // an empty profile has asked for none
	ranks := b.frames.ranks()
	order := make([]int32, 0, len(b.nodes)-1)
	children := make([]int32, len(b.nodes)+1)
	for i, n := range b.nodes[1:] {
		order = append(order, int32(i+1))
		children[n.parent+1]++
	}
	for i := range b.nodes {
		children[i+1] += children[i]
	}
	slices.SortFunc(order, func(x, y int32) int {
		a, b := b.nodes[x], b.nodes[y]
		return cmp.Or(
			cmp.Compare(a.parent, b.parent),
			cmp.Compare(b.value, a.value),
			cmp.Compare(ranks[a.frame], ranks[b.frame]),
		)
	})
	return &Flamegraph{heads: b.heads, nodes: b.nodes, order: order, children: children}
}

// WriteTo writes the tree, without recursion: a stack may have any depth.
func (f *Flamegraph) WriteTo(w io.Writer) (int64, error) {
	out := newOutput(w)
	open := make([]siblings, 0, 64) // what is left of each node that is not closed yet
	open = append(open, f.begin(out, root))
	for len(open) > 0 && out.err == nil {
		left := &open[len(open)-1]
		if left.next == left.end {
			out.text(nodeAfter)
			open = open[:len(open)-1]
			continue
		}
		if left.next > left.first {
			out.text(",")
		}
		child := f.order[left.next]
		left.next++
		open = append(open, f.begin(out, child))
	}
	return out.close()
}

// siblings are the children of a node, as a part of order.
type siblings struct{ first, next, end int32 }

func (f *Flamegraph) begin(out *output, n int32) siblings {
	out.bytes(f.heads[f.nodes[n].frame])
	out.number(f.nodes[n].value)
	out.text(nodeBefore)
	return siblings{first: f.children[n], next: f.children[n], end: f.children[n+1]}
}
