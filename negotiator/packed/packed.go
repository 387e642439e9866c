// Package packed reads and writes text that may be compressed with gzip, xz or zstd. Reading
// detects the format by how the data begins, whatever the file's name; writing takes it from the
// end of the name.
package packed

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
)

// Format is how a file is compressed.
type Format string

// The formats; each but Plain is the name of its tool.
const (
	Plain Format = ""
	Gzip  Format = "gzip"
	XZ    Format = "xz"
	Zstd  Format = "zstd"
)

// format describes a Format.
type format struct {
	name  Format
	end   string // how file names end
	magic []byte // how the data begins
}

func formats() []format {
	return []format{
		{Gzip, ".gz", []byte{0x1f, 0x8b}},
		{XZ, ".xz", []byte{0xfd, '7', 'z', 'X', 'Z', 0}},
		{Zstd, ".zst", []byte{0x28, 0xb5, 0x2f, 0xfd}},
	}
}

// ByName returns the format that the end of a file's name stands for, and the name without that
// end.
func ByName(file string) (f Format, rest string) {
	for _, f := range formats() {
		rest := file[:max(0, len(file)-len(f.end))]
		if strings.EqualFold(file[len(rest):], f.end) { // o.CSV.GZ as well
			return f.name, rest
		}
	}
	return Plain, file
}

// TruncatedError says that a compressed file is cut off.
type TruncatedError struct{ Format Format }

// Error returns what is wrong, and what to do.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("the %s file is truncated; fetch it again", e.Format)
}

// DamagedError says that a compressed file contradicts itself.
type DamagedError struct {
	Format Format
	Err    error // of the library
}

// Error returns what is wrong, and what to do.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the %s file is damaged; fetch it again", e.Format)
}

// Unwrap returns what the library says.
func (e *DamagedError) Unwrap() error { return e.Err }

// NoTextError says that a file, or what is compressed in it, is no text but of another kind.
type NoTextError struct{ Kind *kinds.Kind }

// Error returns what it looks like, and what to do.
func (e *NoTextError) Error() string { return e.Kind.Problem() + "; " + e.Kind.Jobs }

// Reader reads the uncompressed text of a file.
type Reader struct {
	Format Format
	text   *bufio.Reader
	stop   func()
	from   *source

	firstLine string // with which what is no text may begin; "": with none
}

// source is a file. It notes what is wrong with reading it, which is no fault of what it holds.
type source struct {
	io.Reader
	wrong error
}

// Read reads from the file.
func (s *source) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.wrong = err
	}
	return n, err
}

// readAhead is how many bytes of a file are read in one step: few, so that progress is smooth.
const readAhead = 64 << 10

// NewReader detects the format by how r begins. It decompresses ahead on another goroutine until
// Close. If the file is cut off, NewReader or Read returns a *TruncatedError, and if it is damaged a
// *DamagedError. What begins as no text does is a *NoTextError. A [Reader] is returned as it is: its text
// is decompressed already.
func NewReader(r io.Reader) (*Reader, error) { return newReader(r, "") }

// NewReaderOf is NewReader for a format that is no text but begins with a line that names it. Anything else that
// is no text is an error as it is there.
func NewReaderOf(r io.Reader, firstLine string) (*Reader, error) { return newReader(r, firstLine) }

func newReader(r io.Reader, firstLine string) (*Reader, error) {
	if opened, ok := r.(*Reader); ok {
		return opened, nil
	}
	from := &source{Reader: r}
	file := bufio.NewReaderSize(from, readAhead)
	begin, err := file.Peek(6) // length of the longest magic
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	p := &Reader{text: file, stop: func() {}, from: from, firstLine: firstLine}
	for _, f := range formats() {
		if bytes.HasPrefix(begin, f.magic) {
			p.Format = f.name
		}
	}
	if skippable(begin) {
		p.Format = Zstd
	}
	if p.Format == Plain {
		if err = p.begin(); err != nil {
			return nil, err
		}
		return p, nil
	}
	unpacked, err := unpack(p.Format, file)
	if err != nil {
		return nil, p.fault(err)
	}
	out, to := io.Pipe()
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer unpacked.Close() //nolint:errcheck // only read
		_, broken := io.CopyBuffer(to, struct{ io.Reader }{unpacked}, make([]byte, 256<<10))
		_ = to.CloseWithError(broken) // always nil
	}()
	p.text, p.stop = bufio.NewReader(out), func() {
		_ = out.Close() // always nil
		<-over
	}
	if err = p.begin(); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// begin skips a byte order mark, and returns an error if what is there to be read begins as no text does. It
// waits for no more of a pipe than its first bytes.
func (p *Reader) begin() error {
	skipMark(p.text)
	head, _ := p.text.Peek(min(p.text.Buffered(), 512)) // the next read returns the error
	if p.firstLine != "" && bytes.HasPrefix(head, []byte(p.firstLine)) {
		return nil
	}
	if kind := kinds.NoText(head); kind != nil {
		return &NoTextError{kind}
	}
	return nil
}

// Unpacked returns a reader of the text of an open file, which closes the file as well. If it returns an
// error, the file is closed.
func Unpacked(file io.ReadCloser) (io.ReadCloser, error) {
	text, err := NewReader(file)
	if err != nil {
		_ = file.Close() // it was only read
		return nil, err
	}
	return unpackedFile{text, file}, nil
}

// Open opens a file by its name, with the function, and returns a reader of its text, which closes the file as
// well. Errors about the text have the name.
func Open(open func(name string) (io.ReadCloser, error), name string) (io.ReadCloser, error) {
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	text, err := Unpacked(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

type unpackedFile struct {
	*Reader
	file io.Closer
}

// Close closes the text and the file.
func (u unpackedFile) Close() error { return errors.Join(u.Reader.Close(), u.file.Close()) }

// skippable reports whether data begins with one of the frames that readers of zstd skip.
func skippable(begin []byte) bool {
	return len(begin) >= 4 && begin[0]&0xf0 == 0x50 && bytes.Equal(begin[1:4], []byte{0x2a, 0x4d, 0x18})
}

// skipMark skips the byte order mark that some editors put before a text. It ignores errors, which
// the next read returns.
func skipMark(text *bufio.Reader) {
	const mark = "\ufeff"
	if begin, _ := text.Peek(len(mark)); string(begin) == mark {
		_, _ = text.Discard(len(mark))
	}
}

// maxWindow bounds the text that a zstd file demands to be kept in memory while it is read, in bytes.
// It is that of the tool zstd without options.
const maxWindow = 128 << 20

func unpack(f Format, file *bufio.Reader) (io.ReadCloser, error) {
	switch f {
	case Gzip:
		return newGzip(file)
	case XZ:
		return newXZ(file)
	case Zstd:
		r, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return r.IOReadCloser(), nil
	default:
		return io.NopCloser(file), nil
	}
}

// fault returns an error of a library in words. It returns those of the file system and our own unchanged.
func (p *Reader) fault(err error) error {
	switch {
	case p.from.wrong != nil, p.Format == Plain, errors.Is(err, io.ErrClosedPipe), errors.As(err, new(*RefusedError)):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &TruncatedError{p.Format}
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return refuse("the zstd file needs more than %d MiB of memory to be read: compress it anew, without --long or "+
			"--ultra", maxWindow>>20)
	default:
		return &DamagedError{p.Format, err}
	}
}

// RefusedError says that a file may be good, and is not read all the same.
type RefusedError struct{ why string }

// Error returns what is wrong, and what to do.
func (r *RefusedError) Error() string { return r.why }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Read reads text.
func (p *Reader) Read(b []byte) (int, error) {
	n, err := p.text.Read(b)
	if err != nil && err != io.EOF { //nolint:errorlint // readers return it bare
		err = p.fault(err)
	}
	return n, err
}

// Peek returns up to n bytes of the text, at most 4096, which are still to be read. It returns no
// error: the next Read does.
func (p *Reader) Peek(n int) []byte {
	begin, _ := p.text.Peek(n)
	return begin
}

// Close stops reading and waits until the file is no longer used.
func (p *Reader) Close() error {
	p.stop()
	return nil
}

// NewWriter returns a writer that compresses into w, in the format that the end of the file's name
// stands for. Close completes the data and leaves w open. The same text gives the same bytes.
func NewWriter(w io.Writer, file string) (io.WriteCloser, error) {
	f, _ := ByName(file)
	switch f {
	case Gzip:
		return gzip.NewWriterLevel(w, gzip.BestCompression)
	case XZ:
		return xz.NewWriter(w)
	case Zstd:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	default:
		return nopCloser{w}, nil
	}
}

type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }
