package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// List returns the absolute paths of the plugins in the directories, by directory and name: all
// files that [Find] considers, whether or not they are plugins.
func List(dirs []string) ([]string, error) {
	var paths []string
	for _, given := range dirs {
		dir, err := filepath.Abs(given)
		if err != nil {
			return nil, fmt.Errorf("plugin directory: %w", err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("plugin directory: %w", err)
		}
		for _, entry := range entries {
			path := filepath.Join(dir, entry.Name())
			info, statErr := os.Stat(path)
			if strings.HasPrefix(entry.Name(), Prefix) && (statErr != nil || !info.IsDir()) {
				paths = append(paths, path)
			}
		}
	}
	return paths, nil
}
