package host

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// ErrNotPlugin is wrapped by errors about executables that cannot be started or do not complete the
// handshake.
var ErrNotPlugin = errors.New("is not a policy plugin")

// notPlugin returns the error about an executable that is no plugin, with what to do about it.
func notPlugin(path string, err error) error {
	if own, ok := errors.AsType[unservable](err); ok {
		return fmt.Errorf("%s: %w", path, own)
	}
	todo := remedy(path, err)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err // the path is said
	}
	if todo != "" {
		err = fmt.Errorf("%w: %s", err, todo)
	}
	return fmt.Errorf("%s: %w: %w", path, ErrNotPlugin, err)
}

// unservable says why a plugin does not serve its policy: it is one, and its description is wrong.
type unservable string

func (u unservable) Error() string { return "its policy cannot be served: " + string(u) }

// Is makes it an [ErrNotPlugin] for whoever asks: it is as little of use.
func (unservable) Is(target error) bool { return target == ErrNotPlugin }

// remedy says why the file could not be started, beyond what the system says, and what to do; "" if that is not
// known.
func remedy(path string, err error) string {
	head := headOf(path)
	first, _, _ := strings.Cut(string(head), "\n")
	interpreter, script := strings.CutPrefix(first, "#!")
	program, _, _ := strings.Cut(strings.TrimSpace(interpreter), " ")
	switch {
	case errors.Is(err, fs.ErrPermission):
		if info, statErr := os.Stat(path); statErr == nil && info.Mode().IsRegular() && info.Mode()&0o111 == 0 {
			return "it is not executable: chmod +x " + path
		}
	case script && strings.HasSuffix(interpreter, "\r"):
		return "its first line ends with CR LF, so that no interpreter is found: save it with the ends of lines of Unix"
	case errors.Is(err, syscall.ENOEXEC):
		return "it is " + kindOf(head)
	case errors.Is(err, fs.ErrNotExist) && script:
		if _, statErr := os.Stat(program); statErr != nil {
			return fmt.Sprintf("its first line names the interpreter %q, which is not there", program)
		}
	}
	return ""
}

// headOf returns the first bytes of a file; none if it cannot be read.
func headOf(path string) []byte {
	const enough = 256
	file, err := openRegular(path)
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // only read
	head := make([]byte, enough)
	n, _ := io.ReadFull(file, head)
	return head[:n]
}

// kindOf says what a file is that the system does not execute, by its first bytes.
func kindOf(head []byte) string {
	const machine = 18 // where ELF says for which processor it is
	switch {
	case len(head) == 0:
		return "empty"
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)) && len(head) > machine+1:
		return "a program for another processor, " + elf.Machine(uint16(head[machine])|uint16(head[machine+1])<<8).String() +
			": build it for this one"
	case bytes.HasPrefix(head, []byte("MZ")):
		return "a program for Windows: build it for this system"
	case bytes.HasPrefix(head, []byte("\xcf\xfa\xed\xfe")), bytes.HasPrefix(head, []byte("\xce\xfa\xed\xfe")),
		bytes.HasPrefix(head, []byte("\xca\xfe\xba\xbe")):
		return "a program for macOS: build it for this system"
	case !bytes.HasPrefix(head, []byte("#!")) && isText(head):
		return "a text whose first line names no interpreter, as #!/usr/bin/python3 does"
	}
	return "no program of this system"
}

// isText reports whether bytes are the start of a text; the last letter may be cut.
func isText(head []byte) bool {
	for utf8.FullRune(head) {
		r, size := utf8.DecodeRune(head)
		if r == utf8.RuneError && size == 1 || r < ' ' && !unicode.IsSpace(r) {
			return false
		}
		head = head[size:]
	}
	return true
}
