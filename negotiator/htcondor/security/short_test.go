package security

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// TestErrorsQuoteLittle refuses strangers who say very much: the errors, which are logged, are short.
func TestErrorsQuoteLittle(t *testing.T) {
	long := strings.Repeat("x\x1b[2J", 3000)
	offer := map[string]string{
		"Authentication": "REQUIRED", "Encryption": "REQUIRED", "Integrity": "REQUIRED", "AuthMethods": "CLAIMTOBE,TOKEN",
		"CryptoMethods": "AES", "ECDHPublicKey": "x", "RemoteVersion": "x", "Subsystem": "x", "SessionDuration": "1",
		"UseSession": "NO", "Sid": "x", "Nonce": "x", "ConnectSinful": "<1.2.3.4:5>", "TrustDomain": "x", "IssuerKeys": "x",
		"NewSession": "YES", "OutgoingNegotiation": "PREFERRED",
	}
	refused := 0
	refuse := func(changes map[string]string, then func(*cedar.Stream)) {
		client, conn := net.Pipe()
		s := &Server{
			Methods: []Method{ClaimToBe, Token}, Keys: map[string]SigningKey{"POOL": NewSigningKey("POOL", []byte("k"))},
			TrustDomain: "x", Needs: func(int) []Permission { return []Permission{Read} }, Commands: []int{1}, Allow: everyone,
			Wishes: func(Permission) Wishes { return all(Required) }, Timeout: time.Second,
		}
		go func() {
			defer client.Close() //nolint:errcheck // nothing is buffered
			ad := classad.New()
			ad.SetInt("Command", 1)
			for name, text := range offer {
				if changed, ok := changes[name]; ok {
					text = changed
				}
				ad.SetString(name, text)
			}
			stream := cedar.NewStream(client, time.Second)
			stream.PutInt(authenticate)
			stream.PutAd(ad)
			if stream.Send() == nil && then != nil {
				then(stream)
			}
		}()
		call, err := s.Accept(t.Context(), conn)
		if err == nil && call != nil {
			call.Close()
			return
		}
		refused++
		require.Less(t, len(err.Error()), 1000, changes)
	}
	for name := range offer {
		refuse(map[string]string{name: long}, nil)
	}
	refuse(map[string]string{"AuthMethods": long, "CryptoMethods": long, "Authentication": "NEVER" + long}, nil)
	refuse(map[string]string{"UseSession": "YES", "Sid": long}, nil)
	refuse(nil, func(s *cedar.Stream) { // it claims a long name
		_, _ = s.Ad()
		_ = s.End()
		_, _ = s.Int()
		s.PutInt(mask([]Method{ClaimToBe}))
		_ = s.Send()
		_, _ = s.Int()
		_ = s.End()
		s.PutInt(1)
		s.PutString(long)
		_ = s.Send()
		_, _ = s.Int()
	})
	require.Greater(t, refused, len(offer)/2)
	for _, err := range []error{&DeniedError{Code: long, User: long}, &DeniedError{Code: "DENIED", User: long}} {
		require.Less(t, len(err.Error()), 700)
	}
	_, err := cedar.ParseAddress("<" + long + ">")
	require.Less(t, len(err.Error()), 1000)
	_, err = cedar.ParseAddress("<1.2.3.4:5?" + long + "=%zz&addrs=" + long + ">")
	require.Less(t, len(err.Error()), 1500)
	_, err = (&Server{}).account(long)
	require.Less(t, len(err.Error()), 500)
}
