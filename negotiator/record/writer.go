package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
)

// Magic begins the text of each file, before it is compressed. The number is the version of the format.
const Magic = "condor-backfill record 1\n"

const (
	// frameText is how many bytes of entries make a frame.
	frameText = 256 << 10
	// mostWaiting bounds the bytes of entries that wait to be written, if nobody waits for the disk; else
	// fewWaiting does.
	mostWaiting = 64 << 20
	fewWaiting  = 16 * frameText
)

// Options say where a record is written, and how.
type Options struct {
	// Path is the file that is written. What it holds already is kept under another name, see README.md.
	Path string
	// Replace has what it holds already be overwritten instead.
	Replace bool
	// Anonymous has users, groups, machines and paths named by pseudonyms. Those are kept in a file beside the
	// record, see [NamesEnd].
	Anonymous bool
	// FileSize and Age bound a file: then another one begins. Total bounds all of them, the oldest being
	// deleted. 0: no bound.
	FileSize, Total int64
	Age             time.Duration
	// Clock tells the time of day, by which files are named and age.
	Clock func() time.Time
	// Tick has what was told so far written, whenever it ticks; nil: only whole frames are written, so the
	// same cycles make the same bytes.
	Tick <-chan time.Time
	// Wait has cycles wait for the disk. Else the record stops where a disk cannot follow.
	Wait bool
	// Failed is called, once and by another goroutine, if the record stops; may be nil.
	Failed func(error)
}

// errSlow says that a disk cannot follow.
var errSlow = fmt.Errorf("the disk does not follow: %d MiB wait to be written", mostWaiting>>20)

// writer compresses entries and writes them, beside the cycles.
type writer struct {
	o      Options
	failed chan struct{} // closed when it stops
	ended  chan struct{} // closed when all is written

	mu      sync.Mutex
	wake    *sync.Cond     // something is to be written, or was
	text    []byte         // of entries, that are to be written
	index   recordv1.Index // of the file that is being told of
	cuts    []cut          // where in the text another file begins
	largest int            // entry so far: a whole state may be larger than what else may wait
	flush   bool           // also less than a frame
	closed  bool
	size    int64 // of the file
	began   time.Time
	error   error
}

// New begins a record. Errors say that there can be none at that path.
func New(o Options, about func() About) (*Recorder, error) {
	files, err := openFiles(o)
	if err != nil {
		return nil, err
	}
	r := &Recorder{about: about}
	if o.Anonymous {
		if r.names, err = openNames(o.Path + NamesEnd); err != nil {
			return nil, err
		}
	}
	w := newWriter(o)
	go w.run(files)
	if o.Tick != nil {
		go w.tick()
	}
	r.writer = w
	return r, nil
}

func newWriter(o Options) *writer {
	w := &writer{o: o, failed: make(chan struct{}), ended: make(chan struct{}), began: o.Clock()}
	w.wake = sync.NewCond(&w.mu)
	return w
}

// cut is where in a text another file begins, with the index of the one that ends there.
type cut struct {
	at    int
	index *recordv1.Index
}

// append adds the text of an entry to what is to be written.
func (w *writer) append(entry []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed { // nobody writes it any more
		return
	}
	w.largest = max(w.largest, len(entry))
	most := mostWaiting
	if w.o.Wait {
		most = fewWaiting
	}
	for w.error == nil && len(w.text) > most+2*w.largest {
		if !w.o.Wait {
			w.stop(errSlow)
			return
		}
		w.wake.Wait()
	}
	if w.error != nil {
		return
	}
	w.text = binary.AppendUvarint(w.text, uint64(len(entry)))
	w.text = append(w.text, entry...)
	if len(w.text) >= frameText {
		w.wake.Broadcast()
	}
}

// next has what follows be written to a file that begins with it.
func (w *writer) next() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.error != nil { // nobody takes it any more
		return
	}
	w.cuts = append(w.cuts, cut{len(w.text), w.takeIndex()})
	w.text = append(w.text, Magic...)
	w.size, w.began = 0, w.o.Clock()
}

// cycle and round count what the file has.
func (w *writer) cycle(now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.index.Cycles == 0 {
		w.index.From = now
	}
	w.index.To = now
	w.index.Cycles++
}

func (w *writer) round() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.index.Rounds++
}

// takeIndex returns the index of the file that ends, without its frames.
func (w *writer) takeIndex() *recordv1.Index {
	i := &recordv1.Index{From: w.index.GetFrom(), To: w.index.GetTo(), Cycles: w.index.GetCycles(), Rounds: w.index.GetRounds()}
	w.index.Reset()
	return i
}

// isFull reports whether it is time for another file.
func (w *writer) isFull() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size > 0 && (w.o.FileSize > 0 && w.size >= w.o.FileSize || w.o.Age > 0 && w.o.Clock().Sub(w.began) >= w.o.Age)
}

// stopped reports whether nothing is written any more.
func (w *writer) stopped() bool {
	select {
	case <-w.failed:
		return true
	default:
		return false
	}
}

func (w *writer) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.error
}

// fail stops the record.
func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop(err)
}

// stop is fail for who holds the lock.
func (w *writer) stop(err error) {
	if w.error != nil {
		return
	}
	w.error, w.text, w.cuts = fmt.Errorf("the record %s has stopped: %w", w.o.Path, err), nil, nil
	close(w.failed)
	w.wake.Broadcast()
	if w.o.Failed != nil {
		go w.o.Failed(w.error)
	}
}

// close waits until all is written.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.wake.Broadcast()
	w.mu.Unlock()
	<-w.ended
	return w.err()
}

// tick has what is there be written whenever the clock ticks.
func (w *writer) tick() {
	for {
		select {
		case <-w.ended:
			return
		case <-w.o.Tick:
			w.mu.Lock()
			w.flush = true
			w.wake.Broadcast()
			w.mu.Unlock()
		}
	}
}

// run writes frames until the record is closed or stops.
func (w *writer) run(files *files) {
	defer close(w.ended)
	var packer *zstd.Encoder
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	var frame []byte
	for err == nil {
		text, before, more := w.take()
		if !more {
			break
		}
		if before != nil {
			if err = files.next(before); err != nil {
				break
			}
		}
		if len(text) > 0 {
			frame = packer.EncodeAll(text, frame[:0])
			err = files.write(frame)
		}
		w.mu.Lock()
		if len(w.cuts) == 0 { // else the next file is being told of
			w.size += int64(len(frame))
		}
		w.wake.Broadcast()
		w.mu.Unlock()
	}
	w.mu.Lock()
	last := w.takeIndex()
	w.mu.Unlock()
	if err == nil && !w.stopped() {
		err = files.close(last)
	} else {
		err = errors.Join(err, files.abandon())
	}
	if err != nil {
		w.fail(err)
	}
}

// take waits until there is a frame to be written, and returns its text. If it is the first of a file, it returns the
// index of the one before. It returns false when there will be no more.
func (w *writer) take() (text []byte, before *recordv1.Index, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.error == nil && !w.closed && !w.ready() {
		w.flush = false
		w.wake.Wait()
	}
	if w.error != nil || len(w.text) == 0 {
		return nil, nil, false
	}
	if len(w.cuts) > 0 && w.cuts[0].at == 0 {
		before, w.cuts = w.cuts[0].index, w.cuts[1:]
	}
	end := w.whole()
	text = bytes.Clone(w.text[:end])
	w.text = w.text[:copy(w.text, w.text[end:])]
	for i := range w.cuts {
		w.cuts[i].at -= end
	}
	w.flush = w.flush && len(w.text) > 0
	return text, before, true
}

// ready reports whether there is a frame to be written: as many bytes as one has, the end of a file, or what is there
// if that is asked for.
func (w *writer) ready() bool {
	ends := len(w.cuts) > 1 || len(w.cuts) == 1 && w.cuts[0].at > 0
	return len(w.text) >= frameText || ends || w.flush && len(w.text) > 0
}

// whole returns how much of what is to be written makes the next frame: whole entries of one file, not many more
// than a frame has.
func (w *writer) whole() int {
	most := len(w.text)
	if len(w.cuts) > 0 {
		most = w.cuts[0].at
	}
	end := 0
	if bytes.HasPrefix(w.text, []byte(Magic)) {
		end = len(Magic)
	}
	for end < most && end < frameText {
		length, n := binary.Uvarint(w.text[end:])
		end += n + int(length)
	}
	return end
}
