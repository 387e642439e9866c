package daemon

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// privateCopies copies files, and those in folders, into memory that has a path only
// in this process. What is not there is left out.
func privateCopies(paths []string) (copies []string, err error) {
	for _, path := range paths {
		files := []string{path}
		if entries, err := os.ReadDir(path); err == nil {
			files = nil
			for _, e := range entries {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			fd, err := unix.MemfdCreate("token", unix.MFD_CLOEXEC)
			if err != nil {
				return nil, fmt.Errorf("copy %s: %w", file, err)
			}
			held := os.NewFile(uintptr(fd), file)
			if _, err = held.Write(text); err != nil {
				return nil, fmt.Errorf("copy %s: %w", file, err)
			}
			heldTokens = append(heldTokens, held)
			copies = append(copies, fmt.Sprintf("/proc/self/fd/%d", fd))
		}
	}
	return copies, nil
}

// heldTokens keeps the copies open for as long as the process lives.
var heldTokens []*os.File
