package integration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// needed is what a policy's module gets besides ours. What is not here is for negotiators and
// simulations alone: see DECISIONS.md before adding to it.
var needed = []string{ //nolint:gochecknoglobals // a table
	"github.com/fatih/color",
	"github.com/golang/protobuf",
	"github.com/hashicorp/go-hclog",
	"github.com/hashicorp/go-plugin",
	"github.com/hashicorp/yamux",
	"github.com/mattn/go-colorable",
	"github.com/mattn/go-isatty",
	"github.com/oklog/run",
	"github.com/planetscale/vtprotobuf",
	"golang.org/x/net",
	"golang.org/x/sys",
	"golang.org/x/text",
	"google.golang.org/genproto/googleapis/rpc",
	"google.golang.org/grpc",
	"google.golang.org/protobuf",
}

// requirement is a module that a go.mod requires.
type requirement struct {
	Path, Version string
	Indirect      bool
}

// required returns what a folder's go.mod requires.
func required(t *testing.T, folder string) []requirement {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	command.Dir = folder
	out, err := command.Output()
	require.NoError(t, err)
	var file struct{ Require []requirement }
	require.NoError(t, json.Unmarshal(out, &file))
	return file.Require
}

// requirements returns the modules that a folder's go.mod requires, and those of them that are
// imported from there.
func requirements(t *testing.T, folder string) (all, direct []string) {
	t.Helper()
	for _, r := range required(t, folder) {
		all = append(all, r.Path)
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	return all, direct
}

// TestAdvisoriesAreThoseOfTheVersionsInUse compares the table in SECURITY.md with go.mod. A module that
// is changed must be looked up anew.
func TestAdvisoriesAreThoseOfTheVersionsInUse(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "SECURITY.md"))
	require.NoError(t, err)
	var told []string
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (v\\S+) \\| ([^|]+) \\| (v\\S+)? ?\\|[^|]*\\|$")
	for _, row := range row.FindAllStringSubmatch(string(text), -1) {
		module, version, advisories, fixed := row[1], row[2], row[3], row[4]
		told = append(told, module+" "+version)
		require.Equal(t, advisories == "none", fixed == "", "%s: which version has the fixes?", module)
		require.False(t, fixed != "" && older(t, version, fixed), "%s %s has known faults that %s has not", module, version, fixed)
	}
	var used []string
	for _, r := range required(t, "..") {
		if !r.Indirect {
			used = append(used, r.Path+" "+r.Version)
		}
	}
	require.ElementsMatch(t, used, told)
}

// older tells whether a version is before another.
func older(t *testing.T, version, than string) bool {
	t.Helper()
	parts := func(v string) (p [3]int) {
		_, err := fmt.Sscanf(v, "v%d.%d.%d", &p[0], &p[1], &p[2])
		require.NoError(t, err, v)
		return p
	}
	a, b := parts(version), parts(than)
	return slices.Compare(a[:], b[:]) < 0
}

func TestOlderVersions(t *testing.T) {
	require.True(t, older(t, "v0.5.8", "v0.5.15"))
	require.True(t, older(t, "v1.9.0", "v1.10.0"))
	require.False(t, older(t, "v0.5.15", "v0.5.15"))
	require.False(t, older(t, "v2.0.0", "v1.9.9"))
}

// TestEachDependencyIsExplained compares the table in DECISIONS.md with go.mod.
func TestEachDependencyIsExplained(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "DECISIONS.md"))
	require.NoError(t, err)
	var told []string
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|[^|]+\\|[^|]+\\| \\d{4}-\\d{2} \\|$")
	for _, row := range row.FindAllSubmatch(text, -1) {
		told = append(told, string(row[1]))
	}
	_, direct := requirements(t, "..")
	require.ElementsMatch(t, direct, told)
}
