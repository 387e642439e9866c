package drawing

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed assets
var assets embed.FS

// Files returns the assets: view.js and so on, without a folder.
func Files() fs.FS {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(fmt.Sprintf("internal error: %v", err))
	}
	return files
}

// Text returns the asset of that name. A name that does not exist is a bug of the caller; it
// panics.
func Text(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(fmt.Sprintf("internal error: %v", err))
	}
	return string(text)
}

// Script returns modules as one script that is no module: in the given order, which must have a
// module after those that it imports from. Imports are lines of their own, and what is exported
// says so at the beginning of a line.
func Script(names ...string) string {
	var script strings.Builder
	for _, name := range names {
		for line := range strings.Lines(Text(name)) {
			if !strings.HasPrefix(line, "import ") {
				script.WriteString(strings.TrimPrefix(line, "export "))
			}
		}
	}
	return script.String()
}
