package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// ChannelEnv is the environment variable that offers a plugin two pipes for its session: its value is
// the numbers of the descriptors that it reads from and writes to, with a comma between them.
const ChannelEnv = "CONDOR_BACKFILL_CHANNEL"

// Channel carries messages over a stream, each preceded by its length as the protocol defines it.
// One goroutine may send while another receives.
type Channel struct {
	out     io.Writer
	in      *bufio.Reader
	limit   int    // maximum size of a received message
	written []byte // buffer for sending
	read    []byte // buffer for receiving
}

const (
	lengthBytes = 4
	// spareRoom is the maximum size of a buffer that is kept from message to message.
	spareRoom = 1 << 20
	// firstRoom is the size of the buffer before any of a message has arrived.
	firstRoom = 64 << 10
)

// NewChannel returns a channel over a stream. The channel receives no message larger than limit,
// and reads ahead.
func NewChannel(stream io.ReadWriter, limit int) *Channel {
	return &Channel{out: stream, in: bufio.NewReader(stream), limit: limit}
}

// message encodes and decodes itself without reflection.
type message interface {
	SizeVT() int
	MarshalToSizedBufferVT(into []byte) (int, error)
	UnmarshalVT(from []byte) error
}

// Send writes a message and returns its size in bytes. After an error the channel is unusable,
// unless the message was too large.
func (c *Channel) Send(m message) (int, error) {
	size := m.SizeVT()
	if size > MaxMessage {
		return 0, fmt.Errorf("a message of %d bytes is larger than %d", size, MaxMessage)
	}
	frame := slices.Grow(c.written[:0], lengthBytes+size)[:lengthBytes+size]
	binary.LittleEndian.PutUint32(frame, uint32(size))
	if _, err := m.MarshalToSizedBufferVT(frame[lengthBytes:]); err != nil {
		return 0, fmt.Errorf("encode: %w", err)
	}
	if c.written = frame; cap(frame) > spareRoom {
		c.written = nil
	}
	return c.out.Write(frame)
}

// Receive reads a message and returns its size in bytes. The error is io.EOF if the other side
// closed the stream. The buffer grows with what has arrived, whatever length the other side
// announces.
func (c *Channel) Receive(m message) (int, error) {
	header, err := c.in.Peek(lengthBytes)
	if err != nil {
		if len(header) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	length := binary.LittleEndian.Uint32(header)
	if uint64(length) > uint64(c.limit) {
		return 0, fmt.Errorf("a message of %d bytes is announced, larger than %d", length, c.limit)
	}
	_, _ = c.in.Discard(lengthBytes) // already peeked at
	body := c.read[:0]
	for left := int(length); left > 0; {
		step := min(left, max(firstRoom, len(body))) // at most doubles the buffer
		body = slices.Grow(body, step)[:len(body)+step]
		n, err := io.ReadFull(c.in, body[len(body)-step:])
		if err != nil {
			return 0, fmt.Errorf("%d of %d bytes of a message came: %w", len(body)-step+n, length, io.ErrUnexpectedEOF)
		}
		left -= step
	}
	if c.read = body; cap(body) > spareRoom {
		c.read = nil
	}
	if _, answer := m.(*policyv1.PolicyMessage); answer {
		if err := CheckAnswer(len(body), func() []byte { return body }); err != nil {
			return 0, err
		}
	}
	if err := m.UnmarshalVT(body); err != nil {
		return 0, fmt.Errorf("decode: %w", err)
	}
	return lengthBytes + int(length), nil
}
