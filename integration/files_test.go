package integration_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ordered is what a package's comment says if its list of files is in the order of calls.
const ordered = "each calls only those below it"

var (
	// beginsFiles is where a package's comment begins to list the files.
	beginsFiles = regexp.MustCompile(`(?m)^(The )?[Ff]iles\b|^\s+- [a-z0-9_]+\.go[,:]`)
	fileName    = regexp.MustCompile(`(^|[^/\w])([a-z0-9_]+\.go)\b`)
)

// TestFilesAreListed requires that a package's comment which lists the files lists all of them, and no
// other, each once; and, if it says so, in the order in which they call each other.
func TestFilesAreListed(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", module+"/...").Output()
	require.NoError(t, err)
	found, lists, orders := []string{}, 0, 0
	for dir := range strings.FieldsSeq(string(out)) {
		list, inOrder := listed(t, dir)
		if list == nil {
			continue
		}
		lists++
		wrong := unlike(list, filesIn(t, dir))
		if inOrder {
			orders++
			wrong = append(wrong, calledBelow(t, dir, list)...)
		}
		for _, text := range wrong {
			found = append(found, dir+": "+text)
		}
	}
	require.Greater(t, lists, 10)
	require.GreaterOrEqual(t, orders, 2)
	require.Empty(t, found)
}

// TestUnlistedFilesAreFound reads a list that is made up.
func TestUnlistedFilesAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module made.up/x\n",
		"doc.go": "// Package x is made up (a.go).\n//\n// Files, from the top down; " + ordered + ":\n" +
			"//   - b.go, c.go: two\n//   - gone.go: none; see y/d.go\npackage x\n",
		"a.go":      "package x\n\nfunc a() { b(); t{}.c() }\n",
		"b.go":      "package x\n\ntype t struct{}\n\nfunc b() {}\n\nvar _ = t{}.c\n",
		"c.go":      "package x\n\nfunc (t) c() { b() }\n\nvar _ = a\n",
		"c_test.go": "package x\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	list, inOrder := listed(t, dir)
	require.True(t, inOrder)
	require.Equal(t, []string{"b.go", "c.go", "gone.go"}, list)
	require.Equal(t, []string{"gone.go is listed, and is no file to be listed", "a.go is listed 0 times"},
		unlike(list, filesIn(t, dir)))
	require.Equal(t, []string{"b.go is called by c.go, below it"}, calledBelow(t, dir, list))
}

// listed returns the files that the comment of the package in a folder lists; nil: it lists none. The
// second result is whether it says that they are in order.
func listed(t *testing.T, dir string) (files []string, inOrder bool) {
	t.Helper()
	for _, name := range sources(t, dir) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		comment := file.Doc.Text()
		begins := beginsFiles.FindStringIndex(comment)
		if begins == nil {
			continue
		}
		for _, found := range fileName.FindAllStringSubmatch(comment[begins[0]:], -1) {
			if found[2] != name { // it may list itself
				files = append(files, found[2])
			}
		}
		inOrder = strings.Contains(comment, ordered)
	}
	return files, inOrder
}

// sources lists the Go files of a folder that are no tests.
func sources(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
	}
	return names
}

// filesIn lists the files of a folder that a list should have: all sources but the one with the list,
// and generated ones.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(sources(t, dir), func(name string) bool {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		return ast.IsGenerated(file) || beginsFiles.MatchString(file.Doc.Text())
	})
}

// unlike says how a list differs from the files that there are.
func unlike(list, files []string) (found []string) {
	times := map[string]int{}
	for _, name := range list {
		if times[name]++; times[name] == 1 && !slices.Contains(files, name) {
			found = append(found, name+" is listed, and is no file to be listed")
		}
	}
	for _, name := range files {
		if times[name] != 1 {
			found = append(found, fmt.Sprintf("%s is listed %d times", name, times[name]))
		}
	}
	return found
}

// calledBelow lists files whose functions or methods are called by a file below them.
func calledBelow(t *testing.T, dir string, list []string) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	pkg, uses := typed(t, dir, files)
	place := func(at token.Pos) int { return slices.Index(list, filepath.Base(files.Position(at).Filename)) }
	for name, used := range uses {
		if _, called := used.(*types.Func); !called || used.Pkg() != pkg {
			continue
		}
		if at, above := place(name.Pos()), place(used.Pos()); above >= 0 && above < at {
			found = append(found, fmt.Sprintf("%s is called by %s, below it", list[above], list[at]))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// typed checks the types of the package in a folder. It returns what each name in it means.
func typed(t *testing.T, dir string, files *token.FileSet) (*types.Package, map[*ast.Ident]types.Object) {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles", ".")
	list.Dir = dir
	out, err := list.Output()
	require.NoError(t, err)
	exports := map[string]string{}
	var names []string // of the last one, which is the package itself
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var p struct {
			ImportPath, Export string
			GoFiles            []string
		}
		require.NoError(t, decoder.Decode(&p))
		exports[p.ImportPath], names = p.Export, p.GoFiles
	}
	parsed := make([]*ast.File, len(names))
	for i, name := range names {
		parsed[i], err = parser.ParseFile(files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	pkg, err := config.Check(dir, files, parsed, &info)
	require.NoError(t, err)
	return pkg, info.Uses
}
