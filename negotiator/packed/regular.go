package packed

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OpenRegular opens a file that another file names, which may come from somebody else. It is an error
// if it is a directory, a pipe, to which perhaps nobody writes, or a device, which may have no end. Links are
// followed. Errors of the file system are returned unchanged.
func OpenRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory; give a file", path)
	}
	if err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket|fs.ModeIrregular) != 0 {
		err = fmt.Errorf("%s is no regular file, as a file that another one names must be", path)
	}
	if err != nil {
		_ = file.Close() // it was not even read
		return nil, err
	}
	return file, nil
}
