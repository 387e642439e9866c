package server_test

import (
	"context"
	"net"
	"testing"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/internal/tape"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// heard is a connection from which a payload is read.
type heard struct {
	*tape.Tape
	said []byte
}

func (h *heard) Read(b []byte) (int, error) {
	if len(h.said) == 0 {
		return 0, net.ErrClosed
	}
	n := copy(b, h.said)
	h.said = h.said[n:]
	return n, nil
}

func (h *heard) Write(b []byte) (int, error) { return len(b), nil }

// Any bytes as the payload of a raw command are served or refused.
func FuzzPayload(f *testing.F) {
	f.Add(uint16(449), []byte("bob@test\x00\x00\x00\x00\x00\x60\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Add(uint16(525), []byte("bob@test\x00\x00\x00\x00\x00\x60\x00\x00\x00"))
	f.Add(uint16(60007), []byte("?names:a(\x00"))
	f.Add(uint16(50), []byte("\x00\x00\x00\x00\x00\x00\x00\x02TargetType = \"JobPlan\"\x00"+
		"Requirements = Name == \"x\"\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, command uint16, payload []byte) {
		n := &server.Negotiator{
			Accountant: &book{}, Ad: recordedAd, Resources: func(string) []byte { return recordedAd().AppendFormat(nil, classad.Lines) },
			Plans: func(context.Context, string) (*server.Ads, error) {
				return server.NewAds(recordedAd()), nil
			},
			Configuration: knobs{{Name: "LOG", Value: "/log"}},
		}
		handlers := n.Handlers()
		h, known := handlers[int(command)]
		if !known || len(payload)+8 > 1<<20 {
			return
		}
		guard := &security.Server{
			Needs:  func(int) []security.Permission { return []security.Permission{security.Read} },
			Wishes: func(security.Permission) security.Wishes { return security.Wishes{} },
		}
		size := len(payload) + 8
		said := append([]byte{
			1, 0, byte(size >> 16), byte(size >> 8), byte(size), 0, 0, 0, 0, 0, 0, byte(command >> 8),
			byte(command),
		}, payload...)
		call, err := guard.Accept(t.Context(), &heard{tape.New(t, "server", "127.0.0.1:1", nil), said})
		if err != nil {
			return
		}
		defer call.Close()
		_ = h.Serve(t.Context(), call)
	})
}
