package integration_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// requirements returns the modules that a folder's go.mod requires, and those of them that are
// imported from there.
func requirements(t *testing.T, folder string) (all, direct []string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	command.Dir = folder
	out, err := command.Output()
	require.NoError(t, err)
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	require.NoError(t, json.Unmarshal(out, &file))
	for _, r := range file.Require {
		all = append(all, r.Path)
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	return all, direct
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
