package security

import (
	"errors"
	"fmt"

	"github.com/condor-backfill/condor-backfill/classad"
)

// errNoSession says that a session is not known here, or counts as unknown for this command, so
// that the peer must negotiate another one.
var errNoSession = errors.New("it cannot go on with that session")

// resume continues a session: the other side counts as the peer for which the session was made. An
// unknown session or a denied command is an error.
func (s *Server) resume(call *Call, asked *classad.ClassAd) error {
	if s.isRaw(call.Command) {
		return fmt.Errorf("command %d comes on a session, and should not", call.Command)
	}
	id, _ := asked.Literal("Sid").Text()
	answer, _ := asked.Literal("ResumeResponse").Bool()
	known, refusal := s.resumable(call, id, answer)
	if answer {
		if err := s.answerResumption(call, refusal); err != nil {
			return err
		}
	}
	if refusal != nil || known.key == nil {
		return refusal
	}
	if err := call.Encrypt(known.key); err != nil || s.proof(call.Command) == Unproven {
		return err
	}
	if _, err := call.More(); err != nil {
		return fmt.Errorf("it does not prove that it holds the session's key: %w", err)
	}
	return nil
}

// resumable returns the session on which the peer may give its command, and completes call.Peer.
// answer says that the peer waits for our answer. The error is errNoSession if another session may
// be good for the command.
func (s *Server) resumable(call *Call, id string, answer bool) (*issued, error) {
	known, ok := s.session(id, addressOf(call.Peer))
	if !ok {
		return nil, fmt.Errorf("%w: it is not known here at that address", errNoSession)
	}
	address, version := call.Peer.Address, call.Peer.Version
	call.Peer = known.peer
	call.Peer.Address, call.Peer.Version = address, version
	keyed := known.key != nil
	err := s.authorize(call.Peer, keyed, call.Command)
	switch {
	case errors.Is(err, errWeak):
		return nil, fmt.Errorf("%w: %w", errNoSession, err)
	case err != nil:
		return nil, err
	}
	switch proof := s.proof(call.Command); {
	case proof == ByHandshake:
		return nil, fmt.Errorf("%w: without a payload nothing proves its key", errNoSession)
	case proof == ByPayload && keyed && !answer: // our nonce in the answer makes each conversation unique
		return nil, fmt.Errorf("%w: without an answer an old conversation could be repeated", errNoSession)
	}
	return known, nil
}

// answerResumption tells the peer whether its wish to resume a session is granted.
func (s *Server) answerResumption(call *Call, refusal error) error {
	code := "AUTHORIZED"
	switch {
	case errors.Is(refusal, errNoSession):
		code = "SID_NOT_FOUND"
	case refusal != nil:
		code = "DENIED"
	}
	nonce, err := newNonce(s.Random)
	if err != nil {
		return err
	}
	answer := classad.New()
	answer.SetString("Nonce", nonce)
	answer.SetString("ReturnCode", code)
	answer.SetString("RemoteVersion", Version)
	call.PutAd(answer)
	return call.Send()
}
