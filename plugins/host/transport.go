package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/condor-backfill/condor-backfill/plugins/internal/wire"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// transport carries the messages of one session, and says how many bytes each
// took.
type transport interface {
	send(m *policyv1.HostMessage) (int, error)
	receive() (*policyv1.PolicyMessage, int, error)
	// cut ends it, and with it a send or receive that waits.
	cut()
}

// rpc is the session as an rpc.
type rpc struct {
	stream policyv1.PolicyService_SessionClient
	cancel context.CancelFunc
}

// openRPC begins an rpc that outlives ctx.
func openRPC(ctx context.Context, service policyv1.PolicyServiceClient) (*rpc, error) {
	streaming, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stream, err := service.Session(streaming)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("open a session: %w", plain(err))
	}
	return &rpc{stream, cancel}, nil
}

func (r *rpc) send(m *policyv1.HostMessage) (int, error) {
	err := r.stream.Send(m)
	if err != nil && !errors.Is(err, io.EOF) { // what lies behind io.EOF is for receive to say
		return 0, plain(err)
	}
	return proto.Size(m), nil
}

func (r *rpc) receive() (*policyv1.PolicyMessage, int, error) {
	m, err := r.stream.Recv()
	switch {
	case errors.Is(err, io.EOF):
		return nil, 0, errors.New("the plugin ended it")
	case err != nil:
		return nil, 0, plain(err)
	}
	return m, proto.Size(m), nil
}

func (r *rpc) cut() { r.cancel() }

// plain is a gRPC error without its code. Its text may be the plugin's.
func plain(err error) error {
	return errors.New(brief(status.Convert(err).Message()))
}

// noBroker lets go-plugin not open the stream by which plugins offer further
// connections: none is ever taken, and each offer costs a goroutine for seconds.
func noBroker(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	if method == "/plugin.GRPCBroker/StartStream" {
		return nil, status.Error(codes.Unimplemented, "it is not needed")
	}
	return open(ctx, desc, conn, method, options...)
}

// codec is gRPC's own, but looks at answers before it decodes them.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(grpcproto.Name)} }

func (c codec) Unmarshal(data mem.BufferSlice, m any) error {
	if _, answer := m.(*policyv1.PolicyMessage); answer {
		if err := wire.CheckAnswer(data.Len(), data.Materialize); err != nil {
			return err
		}
	}
	return c.CodecV2.Unmarshal(data, m)
}

// socket is the session on a socket of its own.
type socket struct {
	conn    net.Conn
	channel *wire.Channel
}

func newSocket(conn net.Conn) *socket { return &socket{conn, wire.NewChannel(conn, wire.MaxAnswer)} }

func (s *socket) send(m *policyv1.HostMessage) (int, error) { return s.channel.Send(m) }

func (s *socket) receive() (*policyv1.PolicyMessage, int, error) {
	m := &policyv1.PolicyMessage{}
	n, err := s.channel.Receive(m)
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) {
		err = errors.New("the plugin ended it, or its process died")
	}
	return m, n, err
}

func (s *socket) cut() { _ = s.conn.Close() }
