package host

import (
	"context"
	"net"
	"os/exec"
)

// Bare is a plugin's process that is confined as others are, but not supervised: for checks of what
// it does by itself. The caller speaks the protocol.
type Bare struct {
	cell  *cell
	cmd   *exec.Cmd
	ended chan struct{}
}

// NewBare prepares a process for an executable.
func NewBare(path string, options Options) (*Bare, error) {
	cell, err := newCell(path, options)
	if err != nil {
		return nil, err
	}
	return &Bare{cell: cell, ended: make(chan struct{})}, nil
}

// Dir is the folder in which the process may listen.
func (b *Bare) Dir() string { return b.cell.dir }

// Start starts the process. Call it once.
func (b *Bare) Start(cmd *exec.Cmd) error {
	b.cmd = cmd
	started := make(chan error)
	go onOwnThread(func() {
		defer close(b.ended)
		err := b.cell.start(cmd)
		if started <- err; err == nil {
			_ = await(cmd) // its exit status does not matter
		}
	})
	return <-started
}

// Dial connects to where the process listens.
func (b *Bare) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return b.cell.dial(ctx, network, address)
}

// Ended is closed when the process has ended, or was not started.
func (b *Bare) Ended() <-chan struct{} { return b.ended }

// Kill kills the process, and what it started, if it runs.
func (b *Bare) Kill() {
	select {
	case <-b.ended:
	default:
		if b.cmd != nil && b.cmd.Process != nil {
			killGroup(b.cmd.Process)
		}
	}
}

// Remove removes the folder.
func (b *Bare) Remove() { b.cell.remove() }
