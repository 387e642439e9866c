package workload

import (
	"bufio"
	"io"
)

// Text is what r holds, unpacked if it is compressed. It is unpacked ahead, while
// what came before is read; stop ends that.
func Text(r io.Reader) (text *bufio.Reader, stop func(), err error) { return plain(r) }
