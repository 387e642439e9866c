package formats

import (
	"io"
	"io/fs"
)

// WithProgress returns the file, or, if its size is known, a reader of it that reports how many of
// its bytes have been read, as they are stored.
func WithProgress(file fs.File, report func(done, total int64)) io.Reader {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return file
	}
	return &progressReader{from: file, total: info.Size(), report: report}
}

// progressReader reports how much of a file has been read.
type progressReader struct {
	from        io.Reader
	done, total int64
	report      func(done, total int64)
}

// Read reads and reports.
func (p *progressReader) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	if n > 0 {
		p.done += int64(n)
		p.report(p.done, p.total)
	}
	return n, err
}
