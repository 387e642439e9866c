package security

import (
	"encoding/base64"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// lie is a server that answers an offer with an ad. It returns the server's address, and what the
// client sends after the answer.
func lie(t *testing.T, answer map[string]string) (cedar.Address, <-chan []byte) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	rest := make(chan []byte, 1)
	go func() {
		conn, wrong := listener.Accept()
		if wrong != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		s := cedar.NewStream(conn, time.Minute)
		_, _ = s.Int()
		_, _ = readAd(s)
		ad := classad.New()
		for name, value := range answer {
			ad.SetString(name, value)
		}
		s.PutAd(ad)
		granted := classad.New()
		granted.SetString("ReturnCode", "AUTHORIZED")
		granted.SetString("Sid", "liar:1")
		if wrong = s.Send(); wrong == nil && answer["Authentication"] != "YES" {
			s.PutAd(granted)
			_ = s.Send()
		}
		said, _ := io.ReadAll(conn)
		rest <- said
	}()
	return cedar.Address{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port}, rest
}

// TestRequiredByTheClient: if the other side refuses a feature that is REQUIRED here, leaves it out
// of its answer, or makes it impossible, the client sends nothing more.
func TestRequiredByTheClient(t *testing.T) {
	public := base64.StdEncoding.EncodeToString(mustECDH(t).PublicKey().Bytes())
	answer := func(authentication, encryption, integrity, key string) map[string]string {
		ad := map[string]string{"AuthMethodsList": "CLAIMTOBE"}
		for name, value := range map[string]string{
			"Authentication": authentication, "Encryption": encryption,
			"Integrity": integrity, "ECDHPublicKey": key,
		} {
			if value != "" {
				ad[name] = value
			}
		}
		return ad
	}
	authentication := Wishes{Authentication: Required, Encryption: Optional, Integrity: Optional}
	encryption := Wishes{Authentication: Optional, Encryption: Required, Integrity: Optional}
	integrity := Wishes{Authentication: Optional, Encryption: Optional, Integrity: Required}
	for name, c := range map[string]struct {
		wishes Wishes
		answer map[string]string
		want   string
	}{
		"no authentication":                        {authentication, answer("NO", "NO", "NO", ""), "authentication is REQUIRED"},
		"authentication left out":                  {authentication, answer("", "YES", "YES", public), "authentication is REQUIRED"},
		"no encryption":                            {encryption, answer("YES", "NO", "YES", public), "encryption is REQUIRED"},
		"encryption left out":                      {encryption, answer("YES", "", "YES", public), "encryption is REQUIRED"},
		"encryption without a key":                 {encryption, answer("YES", "YES", "YES", ""), "no public key"},
		"encryption of a stranger":                 {encryption, answer("NO", "YES", "YES", public), "without authentication"},
		"no integrity":                             {integrity, answer("YES", "YES", "NO", public), "integrity is REQUIRED"},
		"integrity left out":                       {integrity, answer("YES", "YES", "", public), "integrity is REQUIRED"},
		"integrity without a key":                  {integrity, answer("YES", "YES", "YES", ""), "no public key"},
		"all left out":                             {all(Required), answer("", "", "", ""), "authentication is REQUIRED"},
		"not required, but promised without a key": {all(Optional), answer("YES", "YES", "NO", ""), "no public key"},
		"not required, but promised to a stranger": {all(Optional), answer("NO", "NO", "YES", ""), "without authentication"},
	} {
		t.Run(name, func(t *testing.T) {
			a, rest := lie(t, c.answer)
			client := &Client{Methods: []Method{ClaimToBe}, User: "me", Timeout: time.Minute, Wishes: c.wishes}
			s, err := client.Start(t.Context(), a, deciding, nil)
			if s != nil {
				s.PutString("the payload")
				_ = s.Send()
				s.Close()
			}
			require.Empty(t, <-rest, "nothing is sent after the answer")
			require.ErrorContains(t, err, c.want)
			require.Empty(t, client.negotiated.all)
		})
	}
}

// A requirement that cannot be met is refused before anybody is called.
func TestRequiredButImpossible(t *testing.T) {
	for _, c := range []*Client{
		{Wishes: Wishes{Authentication: Required}},
		{Wishes: Wishes{Encryption: Required}},
		{Wishes: Wishes{Integrity: Required}},
		{Wishes: Wishes{Authentication: Never, Encryption: Required}, Methods: []Method{FS}},
	} {
		_, err := c.Start(t.Context(), cedar.Address{Host: "nowhere.invalid", Port: 1}, deciding, nil)
		require.ErrorContains(t, err, "is REQUIRED")
	}
}

// A session that lacks what is required is not used, whoever made it.
func TestRequiredOfSessions(t *testing.T) {
	guard := &Server{
		Methods: []Method{ClaimToBe}, Domain: "d", Allow: everyone,
		Wishes: func(Permission) Wishes { return all(Optional) },
	}
	s := serve(t, guard)
	plain, err := ParseKey(`plain#[Encryption="NO";Integrity="NO";]5ec4e7`)
	require.NoError(t, err)
	guard.Admit(plain, Peer{User: "by the key"})
	c := &Client{Methods: []Method{ClaimToBe}, User: "me", Timeout: time.Minute, Wishes: all(Optional)}
	got, err := who(t, c, s.address, reading, &plain)
	require.NoError(t, err)
	require.Equal(t, "by the key by , encrypted true", got, "where nothing is required, it is good enough")
	got, err = who(t, c, s.address, reading, nil)
	require.NoError(t, err)
	require.Equal(t, Unauthenticated+" by , encrypted false", got)
	require.NotEmpty(t, c.negotiated.all)

	for _, w := range []Wishes{
		{Authentication: Required, Encryption: Optional, Integrity: Optional},
		{Authentication: Optional, Encryption: Required, Integrity: Optional},
		{Authentication: Optional, Encryption: Optional, Integrity: Required},
	} {
		kept := c.negotiated.find(place{s.address.String(), reading}, time.Now())
		strict := &Client{Methods: c.Methods, User: "me", Timeout: time.Minute, Wishes: w}
		strict.negotiated.keep(s.address.String(), []int{reading}, kept, time.Now())
		got, err = who(t, strict, s.address, reading, nil)
		require.NoError(t, err)
		require.Equal(t, "me@d by CLAIMTOBE, encrypted true", got, "%v", w)
		if w.Authentication != Required {
			got, err = who(t, strict, s.address, deciding, &plain)
			require.NoError(t, err)
			require.Equal(t, "me@d by CLAIMTOBE, encrypted true", got, "%v", w)
		}
	}
}

// TestWeakerMethods: the other side cannot choose a method that is not configured here.
func TestWeakerMethods(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	offered := make(chan int64, 1)
	public := base64.StdEncoding.EncodeToString(mustECDH(t).PublicKey().Bytes())
	go func() {
		conn, wrong := listener.Accept()
		if wrong != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		s := cedar.NewStream(conn, time.Minute)
		_, _ = s.Int()
		_, _ = readAd(s)
		ad := classad.New()
		for name, value := range map[string]string{
			"Authentication": "YES", "Encryption": "YES", "Integrity": "YES", "AuthMethodsList": "CLAIMTOBE,FS,TOKEN",
			"ECDHPublicKey": public,
		} {
			ad.SetString(name, value)
		}
		s.PutAd(ad)
		_ = s.Send()
		sum, _ := s.Int()
		_ = s.End()
		offered <- sum
		s.PutInt(bits[ClaimToBe])
		_ = s.Send()
		_, _ = io.Copy(io.Discard, conn)
	}()
	c := &Client{Methods: []Method{Token}, User: "me", Timeout: time.Minute}
	_, err = c.Start(t.Context(), cedar.Address{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port},
		deciding, nil)
	require.ErrorContains(t, err, "which was not offered")
	require.Equal(t, bits[Token], <-offered)
}
