package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMapNamesEveryPackage compares the package map in ARCHITECTURE.md with the packages that there
// are: each has one row, commands aside, and no row is left over.
func TestMapNamesEveryPackage(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags=browser", "-f",
		`{{if ne .Name "main"}}{{.ImportPath}}{{end}}`, module+"/...").Output()
	require.NoError(t, err)
	text, err := os.ReadFile("../ARCHITECTURE.md")
	require.NoError(t, err)
	packages := strings.Fields(strings.ReplaceAll(string(out), module+"/", ""))
	require.NotEmpty(t, packages)
	require.Empty(t, mistakesInMap(string(text), packages))
}

// TestMistakesInAMapAreFound looks at maps that are made up.
func TestMistakesInAMapAreFound(t *testing.T) {
	const start = "## Package map\n\n| path | what it holds |\n|---|---|\n"
	packages := []string{"a", "a/b", "a/b/c", "d", "d/e"}
	require.Empty(t, mistakesInMap(start+"| `a` | x |\n| `a/*` | x |\n| `a/b/c` | x |\n| `d/...` | x |\n", packages))
	require.Equal(t, []string{"a/b: 0 rows", "a/b/c: 0 rows", "d/e: 2 rows", "the row of `f` has no package"},
		mistakesInMap(start+"| `a` | x |\n| `d` | x |\n| `d/e` | x |\n| `d/*` | x |\n| `f` | x |\n\n"+
			"## Next\n\n| `a/b` | x |\n", packages))
}

// mistakesInMap lists the packages without exactly one row, and the rows without a package. In a row
// "x/*" is what is directly below x, and "x/..." is x and everything below it.
func mistakesInMap(text string, packages []string) (found []string) {
	_, text, _ = strings.Cut(text, "## Package map\n")
	text, _, _ = strings.Cut(text, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .+ \\|$").FindAllStringSubmatch(text, -1)
	named := map[string]int{}
	for _, path := range packages {
		count := 0
		for _, row := range rows {
			folder, below := strings.CutSuffix(row[1], "/*")
			rest, inside := strings.CutPrefix(path, folder+"/")
			if below && inside && !strings.Contains(rest, "/") || !below && matches(row[1], path) {
				count++
				named[row[1]]++
			}
		}
		if count != 1 {
			found = append(found, fmt.Sprintf("%s: %d rows", path, count))
		}
	}
	for _, row := range rows {
		if named[row[1]] == 0 {
			found = append(found, fmt.Sprintf("the row of `%s` has no package", row[1]))
		}
	}
	return found
}
