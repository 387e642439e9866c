package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"slices"
)

// delayPackage is the package of the inserted calls. Files import it under a name that nobody else
// uses.
const (
	delayPackage = module + "/integration/stress-tests/delay"
	delayName    = "_delay"
)

// instrument inserts a call of delay.Here before each statement of a Go file, on the statement's
// line, so that line numbers in failures stay right. A place is identified by its file's name and
// its number in the file, so it is the same whatever else is instrumented. The result is nil for a
// generated file and for one without statements.
func instrument(name string, source []byte) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := statements(files, file)
	if len(at) == 0 || ast.IsGenerated(file) {
		return nil, nil
	}
	var out bytes.Buffer
	header := files.Position(file.Name.End()).Offset
	out.Write(source[:header])
	fmt.Fprintf(&out, "; import %s %q", delayName, delayPackage)
	written := header
	for i, offset := range at {
		out.Write(source[written:offset])
		fmt.Fprintf(&out, "%s.Here(%#x); ", delayName, place(name, i))
		written = offset
	}
	out.Write(source[written:])
	return out.Bytes(), nil
}

// statements returns the offsets of the statements of all blocks, in order.
func statements(files *token.FileSet, file *ast.File) (offsets []int) {
	ast.Inspect(file, func(node ast.Node) bool {
		var list []ast.Stmt
		switch node := node.(type) {
		case *ast.BlockStmt:
			list = node.List
		case *ast.CaseClause:
			list = node.Body
		case *ast.CommClause:
			list = node.Body
		}
		for _, statement := range list {
			switch statement.(type) {
			case *ast.CaseClause, *ast.CommClause, *ast.EmptyStmt:
			default:
				offsets = append(offsets, files.PositionFor(statement.Pos(), false).Offset)
			}
		}
		return true
	})
	slices.Sort(offsets)
	return offsets
}

func place(name string, number int) uint64 {
	sum := fnv.New64a()
	sum.Write(fmt.Appendf(nil, "%s %d", name, number))
	return sum.Sum64()
}
