package workload

import (
	"bufio"
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/workload/packed"
)

// Text is what r holds, unpacked if it is compressed. It is unpacked ahead, while
// what came before is read; stop ends that.
func Text(r io.Reader) (text *bufio.Reader, stop func(), err error) {
	unpacked, err := packed.NewReader(r)
	if err != nil {
		return nil, nil, err
	}
	return bufio.NewReader(unpacked), func() { _ = unpacked.Close() }, nil // only read
}
