// Package integration tests the layers together: real binaries, real plugin
// processes, and the rules between packages.
package integration_test

import (
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/condor-backfill/condor-backfill"

// layers says what each top folder may import of the others. Commands (cmd and
// plugins/backfill-NAME) may import anything.
var layers = map[string][]string{
	"classad":     {},
	"backfill":    {},
	"configs":     {},
	"plugins":     {"backfill"},
	"negotiator":  {"classad", "backfill"},
	"condorsim":   {"negotiator", "classad", "backfill"},
	"integration": {},
}

// TestLayers holds the imports of every package, transitive ones included,
// against the arrows of ARCHITECTURE.md.
func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Imports", module+"/...").Output()
	require.NoError(t, err)
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	checked := 0
	for {
		var pkg struct {
			ImportPath, Name string
			Imports          []string
		}
		if err = decoder.Decode(&pkg); err == io.EOF { //nolint:errorlint // Decode returns it bare
			break
		}
		require.NoError(t, err)
		from, ours := topFolder(pkg.ImportPath)
		if !ours || pkg.Name == "main" {
			continue
		}
		allowed, known := layers[from]
		require.True(t, known, "%s is in no known layer", pkg.ImportPath)
		for _, imported := range pkg.Imports {
			to, inside := topFolder(imported)
			if !inside || to == from {
				continue
			}
			require.Contains(t, allowed, to, "%s imports %s", pkg.ImportPath, imported)
		}
		checked++
	}
	require.Greater(t, checked, 15)
}

func topFolder(importPath string) (string, bool) {
	rest, ours := strings.CutPrefix(importPath, module+"/")
	folder, _, _ := strings.Cut(rest, "/")
	return folder, ours
}
