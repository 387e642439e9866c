package security

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// authenticate is DC_AUTHENTICATE, the command that wraps all others.
const authenticate = 60010

// Version is the version of HTCondor that we announce; the other side's behaviour depends on it.
const Version = "$CondorVersion: 23.9.6 2024-08-08 BuildID: 700000 $"

// sessionDuration is the duration of sessions that we ask for, and lease the time that they may go
// unused.
const (
	sessionDuration = time.Hour
	sessionLease    = time.Hour
)

// resume starts a command on an existing session. The error is errForgotten if the other side does
// not know the session, and wraps errAnswer if no answer comes.
func (c *Client) resume(ctx context.Context, a cedar.Address, command int,
	known *session,
) (_ *cedar.Stream, err error) {
	s, err := c.dial(ctx, a)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	nonce, err := newNonce(c.Random)
	if err != nil {
		return nil, err
	}
	ad := classad.New()
	ad.SetInt("Command", int64(command))
	ad.SetString("UseSession", "YES")
	ad.SetString("Sid", known.id)
	ad.SetString("CryptoMethods", "AES")
	ad.SetString("RemoteVersion", Version)
	ad.SetBool("ResumeResponse", true)
	ad.SetString("ConnectSinful", a.String())
	ad.SetString("Nonce", nonce)
	ad.SetString("Enact", "YES")
	s.PutInt(authenticate)
	s.PutAd(ad)
	if err = s.Send(); err != nil {
		return nil, errors.Join(errAnswer, err)
	}
	answer, err := readAd(s)
	if err != nil {
		return nil, errors.Join(errAnswer, err)
	}
	switch code, _ := answer.Literal("ReturnCode").Text(); code {
	case "AUTHORIZED", "":
	case "SID_NOT_FOUND":
		return nil, errForgotten
	default:
		return nil, &DeniedError{Code: code, User: "the session's owner"}
	}
	if known.key == nil {
		return s, nil
	}
	return s, s.Encrypt(known.key)
}

func readAd(s *cedar.Stream) (*classad.ClassAd, error) {
	ad, err := s.Ad()
	if err != nil {
		return nil, err
	}
	return ad, s.End()
}

// negotiate starts a command on a new session, which it agrees on by a handshake and remembers.
func (c *Client) negotiate(ctx context.Context, a cedar.Address, command int) (_ *cedar.Stream, err error) {
	wishes, err := c.Wishes.offered(c.Methods)
	if err != nil {
		return nil, err
	}
	s, err := c.dial(ctx, a)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	private, err := newECDH(c.Random)
	if err != nil {
		return nil, err
	}
	s.PutInt(authenticate)
	s.PutAd(c.offer(a, command, wishes, private.PublicKey()))
	if err = s.Send(); err != nil {
		return nil, err
	}
	answer, err := readAd(s)
	if err != nil {
		return nil, fmt.Errorf("the other side hung up: no common policy or method (%s), or it does not know "+
			"the command: %w", joined(c.Methods), err)
	}
	made := &session{used: c.now()}
	said, err := c.heed(answer)
	if err != nil {
		return nil, err
	}
	if said.authentication {
		made.authenticated = true
		made.key, err = c.authenticate(s, answer, private)
	} else if encoded, given := answer.Literal("ECDHPublicKey").Text(); given {
		// Servers since 23.10 agree on a key with anybody, and encrypt with it whatever they promise.
		made.key, err = agreedKey(private, encoded)
	}
	if err != nil {
		return nil, err
	}
	if made.key != nil {
		if err = s.Encrypt(made.key); err != nil {
			return nil, err
		}
	}
	granted, err := readAd(s)
	if err != nil {
		return nil, fmt.Errorf("after the handshake: %w", err)
	}
	user, _ := granted.Literal("User").Text()
	if code, given := granted.Literal("ReturnCode").Text(); given && code != "AUTHORIZED" {
		return nil, &DeniedError{Code: code, User: user}
	}
	c.remember(a, command, made, answer, granted)
	return s, nil
}

// offer returns the ad with which we start a handshake.
func (c *Client) offer(a cedar.Address, command int, w Wishes, public *ecdh.PublicKey) *classad.ClassAd {
	pid := c.pid
	if pid == 0 {
		pid = os.Getpid()
	}
	ad := classad.New()
	ad.SetString("AuthMethods", joined(c.Methods))
	ad.SetString("CryptoMethods", "AES")
	ad.SetString("OutgoingNegotiation", string(Preferred))
	ad.SetString("Authentication", string(w.Authentication))
	ad.SetString("Encryption", string(w.Encryption))
	ad.SetString("Integrity", string(w.Integrity))
	ad.SetString("Enact", "NO")
	ad.SetString("Subsystem", c.Name)
	ad.SetInt("ServerPid", int64(pid))
	ad.SetString("SessionDuration", strconv.Itoa(int(sessionDuration/time.Second)))
	ad.SetInt("SessionLease", int64(sessionLease/time.Second))
	ad.SetString("ECDHPublicKey", base64.StdEncoding.EncodeToString(public.Bytes()))
	ad.SetString("NewSession", "YES")
	ad.SetBool("NegotiatedSession", true)
	ad.SetString("RemoteVersion", Version)
	ad.SetString("ConnectSinful", a.String())
	ad.SetInt("Command", int64(command))
	return ad
}

// authenticate proves our identity by one of the methods that both sides support, and returns the
// session's key, or nil if the other side sends no public key.
func (c *Client) authenticate(s *cedar.Stream, answer *classad.ClassAd, private *ecdh.PrivateKey) ([]byte, error) {
	listed, _ := answer.Literal("AuthMethodsList").Text()
	if listed == "" {
		listed, _ = answer.Literal("AuthMethods").Text()
	}
	var left []Method
	for _, m := range ParseMethods(listed) {
		if _, ours := find(c.Methods, m); ours {
			left = append(left, m)
		}
	}
	var failed []error
	for {
		s.PutInt(mask(left))
		if err := s.Send(); err != nil {
			return nil, errors.Join(append(failed, err)...)
		}
		bit, err := s.Int()
		if err == nil {
			err = s.End()
		}
		if err != nil {
			return nil, errors.Join(append(failed, err)...)
		}
		if bit == 0 || len(left) == 0 {
			return nil, errors.Join(append(failed,
				fmt.Errorf("no way to show who we are is left: we have %s, the other side %.200s",
					joined(c.Methods), listed))...)
		}
		m, err := byBit(bit)
		i, offered := find(left, m)
		if err == nil && !offered {
			_, err = byBit(-1)
		}
		if err != nil {
			return nil, err
		}
		if err = c.prove(s, m, answer); err == nil {
			break
		}
		failed = append(failed, fmt.Errorf("%s: %w", m, err))
		left = append(left[:i:i], left[i+1:]...)
	}
	if wrapped, err := s.Int(); err != nil {
		return nil, errors.Join(append(failed, err)...)
	} else if wrapped != 0 {
		return nil, errors.New("the other side sends a key in a way that is not supported")
	}
	if err := s.End(); err != nil {
		return nil, err
	}
	encoded, given := answer.Literal("ECDHPublicKey").Text()
	if !given {
		return nil, nil
	}
	return agreedKey(private, encoded)
}

func find(methods []Method, m Method) (int, bool) {
	for i, have := range methods {
		if have == m {
			return i, true
		}
	}
	return 0, false
}

// prove authenticates us at the other side by one method. answer is the other side's ad of the
// handshake.
func (c *Client) prove(s *cedar.Stream, m Method, answer *classad.ClassAd) error {
	switch m {
	case ClaimToBe:
		return claimToBe(s, c.User)
	case FS:
		_, remote := s.Addresses()
		create := c.makeDirectory
		if create == nil {
			create = makeDirectory
		}
		return proveFS(s, remote.String(), func(name string) error { return create(name, c.Owner) })
	default:
		domain, _ := answer.Literal("TrustDomain").Text()
		keys, _ := answer.Literal("IssuerKeys").Text()
		t, err := c.token(domain, keys)
		if err != nil {
			return errors.Join(err, noToken(s))
		}
		_, err = t.exchange(s, c.Random)
		return err
	}
}

// token returns the first of our tokens that may be accepted by a side with this trust domain and
// these signing keys, a list of names; an error if there is none.
func (c *Client) token(domain, keys string) (token, error) {
	all, wrong := readTokens(c.Tokens)
	issuers := strings.FieldsFunc(keys, func(r rune) bool { return r == ',' || r == ' ' })
	expired := 0
	for _, t := range all {
		if t.fits(domain, issuers, c.now()) {
			return t, nil
		}
		if t.expired(c.now()) {
			expired++
		}
	}
	return token{}, errors.Join(fmt.Errorf("no token for %.80q by one of the keys %.80q in %s, of %d that are "+
		"there (%d expired)",
		domain, keys, strings.Join(c.Tokens, ", "), len(all), expired), wrong)
}

// agreedKey computes the session's key from the other side's public key.
func agreedKey(private *ecdh.PrivateKey, encoded string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("the other side's public key is no base64")
	}
	public, err := ecdh.P256().NewPublicKey(raw)
	if err != nil {
		return nil, fmt.Errorf("the other side's public key: %w", err)
	}
	shared, err := private.ECDH(public)
	if err != nil {
		return nil, err
	}
	return derive(shared), nil
}
