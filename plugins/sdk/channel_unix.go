//go:build unix

package sdk

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// takeChannel returns the pipes that the host offers for the session, or nil if it offers none.
// Processes that this one starts do not inherit the pipes or their offer.
func takeChannel() io.ReadWriteCloser {
	offer := os.Getenv(wire.ChannelEnv)
	_ = os.Unsetenv(wire.ChannelEnv)
	in, out, _ := strings.Cut(offer, ",")
	questions, answers := offered(in), offered(out)
	if questions < 0 || answers < 0 {
		return nil
	}
	syscall.CloseOnExec(questions)
	syscall.CloseOnExec(answers)
	// The pipes are blocking, and so is the thread that reads: it answers in half the time that the Go
	// runtime's poller takes.
	return &channel{in: os.NewFile(uintptr(questions), "questions"), out: os.NewFile(uintptr(answers), "answers")}
}

// offered returns the number of a pipe's descriptor; -1 if it is none, as the offer was for another
// process.
func offered(text string) int {
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 {
		return -1
	}
	var status syscall.Stat_t
	if err = syscall.Fstat(number, &status); err != nil || status.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return -1
	}
	return number
}

// channel is what a session reads and writes.
type channel struct{ in, out *os.File }

func (c *channel) Read(into []byte) (int, error) { return c.in.Read(into) }
func (c *channel) Write(all []byte) (int, error) { return c.out.Write(all) }
func (c *channel) Close() error                  { return errors.Join(c.in.Close(), c.out.Close()) }
