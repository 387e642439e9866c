package integration_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheContainerFileFits holds what the Containerfile says against the tree: the Go that it builds with, the
// programs, and that its check of health asks where the page is served. It builds no image: that takes an engine.
func TestTheContainerFileFits(t *testing.T) {
	text, err := os.ReadFile("../Containerfile")
	require.NoError(t, err)
	found := func(pattern string) (all []string) {
		t.Helper()
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			all = append(all, match[1])
		}
		require.NotEmpty(t, all, pattern)
		return all
	}
	module, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	require.Contains(t, string(module), "\ngo "+found(`FROM golang:([\d.]+) `)[0]+".")
	programs := found(` \./(\w+/cmd/[\w-]+)`)
	require.Len(t, programs, 4)
	for _, program := range programs {
		require.FileExists(t, filepath.Join("..", program, "main.go"))
	}
	require.Equal(t, found(`"--http", "([^"]+)"`), found(`wget .* http://([^/]+)/metrics`))
	require.Regexp(t, `(?m)^USER [1-9]\d*:[1-9]\d*$`, string(text), "not root")
}
