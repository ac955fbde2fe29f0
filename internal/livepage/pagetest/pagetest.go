// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// Package pagetest reads the page that shows connectors as a browser does, for
// tests of what it says.
package pagetest

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Page is a page that was read.
type Page struct {
	Tables []Table
	// Elements are the names of all elements, in their order.
	Elements []string
	// Text is all text outside of tables.
	Text string
}

// Table is a table of it, all of it as text. A cell that spans rows stands in
// each of them.
type Table struct {
	Caption string
	Header  []string
	Rows    [][]string
}

// Read reads a page. It is an error if a table has no caption, or a row another
// number of cells than the header.
func Read(from io.Reader) (Page, error) {
	root, err := html.Parse(from)
	if err != nil {
		return Page{}, err
	}
	var page Page
	var text strings.Builder
	for node := range root.Descendants() {
		switch {
		case node.Type == html.ElementNode:
			page.Elements = append(page.Elements, node.Data)
			if node.DataAtom == atom.Table {
				table, err := readTable(node)
				if err != nil {
					return Page{}, err
				}
				page.Tables = append(page.Tables, table)
			}
		case node.Type == html.TextNode && !isWithin(node, atom.Table) && !isWithin(node, atom.Style):
			text.WriteString(node.Data)
		}
	}
	page.Text = strings.Join(strings.Fields(text.String()), " ")
	return page, nil
}

// Table returns the first table whose caption begins with a text.
func (p Page) Table(caption string) (Table, error) {
	for _, table := range p.Tables {
		if strings.HasPrefix(table.Caption, caption) {
			return table, nil
		}
	}
	return Table{}, fmt.Errorf("the page has no table %q", caption)
}

// Row returns the first row that has a cell with a text.
func (t Table) Row(cell string) []string {
	for _, row := range t.Rows {
		if slices.Contains(row, cell) {
			return row
		}
	}
	return nil
}

func readTable(node *html.Node) (Table, error) {
	var table Table
	var spanning []int // rows that cells of earlier ones still reach into, by column
	for child := range node.Descendants() {
		switch child.DataAtom {
		case atom.Caption:
			table.Caption = strings.Join(strings.Fields(textOf(child)), " ")
		case atom.Tr:
			if isWithin(child, atom.Thead) {
				table.Header = cells(child, nil, nil)
				spanning = make([]int, len(table.Header))
				continue
			}
			var above []string
			if len(table.Rows) > 0 {
				above = table.Rows[len(table.Rows)-1]
			}
			row := cells(child, above, spanning)
			if len(row) != len(table.Header) {
				return Table{}, fmt.Errorf("table %q: the row %q has not as many cells as the header %q", table.Caption, row, table.Header)
			}
			table.Rows = append(table.Rows, row)
		default:
		}
	}
	if table.Caption == "" {
		return Table{}, fmt.Errorf("the table with the header %q has no caption", table.Header)
	}
	return table, nil
}

// cells returns those of a row, with those of the row above that reach into it.
func cells(row *html.Node, above []string, spanning []int) []string {
	var texts []string
	fill := func() {
		for len(texts) < len(spanning) && spanning[len(texts)] > 0 {
			spanning[len(texts)]--
			texts = append(texts, above[len(texts)])
		}
	}
	for cell := range row.ChildNodes() {
		if cell.DataAtom != atom.Td && cell.DataAtom != atom.Th {
			continue
		}
		fill()
		if rows, err := strconv.Atoi(attribute(cell, "rowspan")); err == nil && len(texts) < len(spanning) {
			spanning[len(texts)] = rows - 1
		}
		text := textOf(cell)
		if cell.FirstChild == nil || cell.FirstChild.DataAtom != atom.Pre {
			text = strings.TrimSpace(text)
		}
		texts = append(texts, text)
	}
	fill()
	return texts
}

func attribute(node *html.Node, name string) string {
	for _, attribute := range node.Attr {
		if attribute.Key == name {
			return attribute.Val
		}
	}
	return ""
}

func textOf(node *html.Node) string {
	var text strings.Builder
	for child := range node.Descendants() {
		if child.Type == html.TextNode {
			text.WriteString(child.Data)
		}
	}
	return text.String()
}

func isWithin(node *html.Node, element atom.Atom) bool {
	for ancestor := range node.Ancestors() {
		if ancestor.DataAtom == element {
			return true
		}
	}
	return false
}
