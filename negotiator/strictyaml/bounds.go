package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a text. The library's tree of 20,000 nested lists takes more than a gigabyte, since
// each node holds its path; each alias may be decoded anew; and the time for a mapping grows with
// the square of its keys. What people write needs a tenth of each.
const (
	maxSize    = 1 << 20 // bytes
	maxNesting = 100     // of lists and mappings
	maxAliases = 100
	maxKeys    = 10_000 // of all mappings
)

var errLong = errors.New("it is longer than 1 MiB, and so not read; shorten it, or check that it is the right file")

// ReadFile returns the text of a file. A file that is too long is an error, and is not read to its
// end; nor is a pipe's writer waited for. Errors name the file; those of the file system are returned
// unchanged.
func ReadFile(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	text, err := Read(file)
	if errors.Is(err, errLong) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	if info, _ := file.Stat(); err == nil && len(text) == 0 && info != nil && info.Mode()&os.ModeNamedPipe != 0 {
		err = fmt.Errorf("%s is a pipe to which nobody writes: name a file", path)
	}
	return text, err
}

// Read returns the whole text. A text that is too long is an error, and is not read to its end.
func Read(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, err
	}
	return text, bounded(text)
}

// errNoText is of signs that YAML does not allow and compressed files have, which nobody wants to see.
var errNoText = errors.New("it is no text; if it is compressed, decompress it, and check that it is the right file")

// bounded returns an error if a text is too long.
func bounded(text []byte) error {
	if len(text) > maxSize {
		return errLong
	}
	return nil
}

// readable returns an error if a text is none.
func readable(text []byte) error {
	for _, c := range text {
		if c < ' ' && (c < '\t' || c > '\r') && c != 0x1b {
			return errNoText
		}
	}
	return nil
}

// sparing returns an error at the token where a text is nested too deeply, or has too many aliases or
// keys.
// Mappings that begin on a line of their own are not counted: each needs more blanks before it than
// the last, so that a text of bounded size has few.
func sparing(text token.Tokens) error {
	flow := 0         // brackets and braces that are open
	var columns []int // of the dashes and question marks that are open
	aliases, keys := 0, 0
	for _, t := range text {
		for t.Type != token.CommentType && flow == 0 && len(columns) > 0 && columns[len(columns)-1] >= t.Position.Column {
			columns = columns[:len(columns)-1]
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.SequenceEntryType, token.MappingKeyType:
			columns = append(columns, t.Position.Column)
		case token.AliasType:
			aliases++
		case token.MappingValueType:
			keys++
		default:
		}
		if flow+len(columns) > maxNesting {
			return at(t, "lists and mappings are nested more than %d deep; write it with fewer levels", maxNesting)
		}
		if aliases > maxAliases {
			return at(t, "there are more than %d aliases; write out what they stand for", maxAliases)
		}
		if keys > maxKeys {
			return at(t, "there are more than %d keys; write it with fewer", maxKeys)
		}
	}
	return nil
}

// at returns an error at the place of a token. It does not show the line, which may be very long.
func at(t *token.Token, format string, args ...any) error {
	return fmt.Errorf("[%d:%d] "+format, append([]any{t.Position.Line, t.Position.Column}, args...)...)
}

// nestedAlias returns the first alias in what an anchor names, or nil. A few of them, each made of
// the last, stand for more than fits into memory.
func nestedAlias(file *ast.File) *ast.AliasNode {
	var found *ast.AliasNode
	for _, d := range file.Docs {
		ast.Walk(anchors{&found, false}, d)
	}
	return found
}

type anchors struct {
	alias  **ast.AliasNode
	within bool
}

// Visit looks at a node.
func (a anchors) Visit(node ast.Node) ast.Visitor {
	switch node := node.(type) {
	case *ast.AnchorNode:
		a.within = true
	case *ast.AliasNode:
		if a.within && *a.alias == nil {
			*a.alias = node
		}
	default:
	}
	return a
}
