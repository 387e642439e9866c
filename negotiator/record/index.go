package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
)

const (
	skippable  = 0x184d2a5a // begins a frame that readers of zstd skip, RFC 8878 section 3.1.2
	indexEnd   = "cbix"
	indexTail  = 4 + len(indexEnd)
	mostIndex  = 64 << 20
	frameBegin = 8
)

// ErrNoIndex says that a record has no index: it is being written, or what wrote it was killed.
var ErrNoIndex = errors.New("the record has no index, as it was not closed")

// indexFrame returns the frame of an index.
func indexFrame(index *recordv1.Index) []byte {
	text, _ := index.MarshalVT() // fails for no message
	frame := binary.LittleEndian.AppendUint32(nil, skippable)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(text)+indexTail))
	frame = append(frame, text...)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(text)))
	return append(frame, indexEnd...)
}

// ReadIndex returns the index of the record at a path, without reading the rest. The error wraps [ErrNoIndex] if there
// is none.
func ReadIndex(path string) (*recordv1.Index, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read record: %w; check the path", err)
	}
	defer file.Close() //nolint:errcheck // only read
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	none := fmt.Errorf("%s: %w", path, ErrNoIndex)
	tail := make([]byte, indexTail)
	if _, err = file.ReadAt(tail, end-int64(indexTail)); err != nil || string(tail[4:]) != indexEnd {
		return nil, none
	}
	length := int64(binary.LittleEndian.Uint32(tail))
	begin := end - int64(indexTail) - length
	if length > mostIndex || begin < frameBegin {
		return nil, none
	}
	text := make([]byte, length)
	if _, err = file.ReadAt(text, begin); err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	index := new(recordv1.Index)
	if err = index.UnmarshalVT(text); err != nil {
		return nil, none
	}
	return index, nil
}

// ErrNoBeginning says that a record has no whole beginning: what writes it has just begun, or was killed then.
var ErrNoBeginning = errors.New("has no whole frame yet; wait, or give another file")

// First returns the instant of a record's first cycle: records of one pool follow each other in this order. The error
// wraps [ErrNoBeginning] if it has none.
func First(path string) (int64, error) {
	if index, err := ReadIndex(path); err == nil && index.GetCycles() > 0 {
		return index.GetFrom(), nil
	}
	r, err := Open(path)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		entry, nextErr := r.Next()
		switch {
		case errors.Is(nextErr, io.EOF):
			return 0, fmt.Errorf("%s: %w", path, ErrNoBeginning)
		case nextErr != nil:
			return 0, nextErr
		}
		if told := entry.GetTold(); told != nil {
			return told.GetNow(), nil
		}
	}
}
