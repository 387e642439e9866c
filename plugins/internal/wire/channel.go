package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"
)

// ChannelEnv names the environment variable that offers a plugin a socket for
// its session: it holds the number of the descriptor.
const ChannelEnv = "CONDOR_BACKFILL_CHANNEL"

// Channel carries messages over a stream, each after its length, as the protocol
// says. One goroutine may send while another receives.
type Channel struct {
	out     io.Writer
	in      *bufio.Reader
	written []byte // room for what is sent
	read    []byte // room for what is received
}

const (
	lengthBytes = 4
	// spareRoom bounds the room that is kept from message to message.
	spareRoom = 1 << 20
	// firstRoom is what is set aside for a message before any of it has come.
	firstRoom = 64 << 10
)

// NewChannel makes a channel of a stream. It reads ahead.
func NewChannel(stream io.ReadWriter) *Channel {
	return &Channel{out: stream, in: bufio.NewReader(stream)}
}

// Send writes a message and returns how many bytes it took. An error leaves the
// channel unusable, unless the message was too large.
func (c *Channel) Send(m proto.Message) (int, error) {
	frame, err := proto.MarshalOptions{}.MarshalAppend(append(c.written[:0], 0, 0, 0, 0), m)
	if err != nil {
		return 0, fmt.Errorf("encode: %w", err)
	}
	if len(frame) > MaxMessage {
		return 0, fmt.Errorf("a message of %d bytes is larger than %d", len(frame), MaxMessage)
	}
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-lengthBytes))
	if c.written = frame; cap(frame) > spareRoom {
		c.written = nil
	}
	return c.out.Write(frame)
}

// Receive reads a message and returns how many bytes it took. The error is io.EOF
// if the other side has ended the stream. What the other side says of a message's
// length is believed only as far as the message has come.
func (c *Channel) Receive(m proto.Message) (int, error) {
	header, err := c.in.Peek(lengthBytes)
	if err != nil {
		if len(header) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	length := binary.LittleEndian.Uint32(header)
	if length > MaxMessage-lengthBytes {
		return 0, fmt.Errorf("a message of %d bytes is announced, larger than %d", length, MaxMessage)
	}
	_, _ = c.in.Discard(lengthBytes) // they were seen
	body := c.read[:0]
	for left := int(length); left > 0; {
		step := min(left, max(firstRoom, len(body))) // at most doubles what has come
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
	if err := proto.Unmarshal(body, m); err != nil {
		return 0, fmt.Errorf("decode: %w", err)
	}
	return lengthBytes + int(length), nil
}
