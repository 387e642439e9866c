package integration_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// noNouns are no names for variables, parameters and fields, which stand for things.
const noNouns = "is was of by under"

// TestVariablesAreNouns looks at every name that is declared within a function or a type.
func TestVariablesAreNouns(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", module+"/...").Output()
	require.NoError(t, err)
	var found []string
	for folder := range strings.Lines(string(out)) {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(folder), "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			found = append(found, noNounsIn(t, file, nil)...)
		}
	}
	require.Empty(t, found, "name them by what they stand for: found, before, policy, order")
}

// TestNoNounsAreFound reads a file that is made up.
func TestNoNounsAreFound(t *testing.T) {
	text := "package p\n\nfunc of(by int) (is bool) {\n\tvar was, then = 1, 2\n\tfor under := range then {\n\t\tof := by\n" +
		"\t\tis = of == was+under\n\t}\n\treturn is\n}\n\ntype t struct{ of, by2 int }\n\ntype u interface{ by() }\n\nfunc (t) by() { of(1) }\n"
	require.Equal(t, []string{
		"made-up.go:3:9 by", "made-up.go:3:18 is", "made-up.go:4:6 was", "made-up.go:5:6 under", "made-up.go:6:3 of",
		"made-up.go:12:16 of",
	}, noNounsIn(t, "made-up.go", text))
}

// noNounsIn lists where a file, with this text if it is not nil, declares names that are no nouns.
func noNounsIn(t *testing.T, name string, text any) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	check := func(names ...ast.Expr) {
		for _, e := range names {
			if id, ok := e.(*ast.Ident); ok && matches(noNouns, id.Name) {
				found = append(found, fmt.Sprintf("%s %s", files.Position(id.Pos()), id.Name))
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.InterfaceType:
			return false // methods are verbs
		case *ast.Field: // parameters, results and receivers, too
			for _, id := range n.Names {
				check(id)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				check(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				check(n.Key, n.Value)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				check(id)
			}
		}
		return true
	})
	return found
}
