package security

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// secQuery is DC_SEC_QUERY: a handshake that asks about a command without giving it.
const secQuery = 60040

// agreement is the outcome of the negotiation of a handshake.
type agreement struct {
	authentication, encryption bool
	methods                    []Method // in the server's order
	duration                   time.Duration
	lease                      time.Duration
}

// negotiate is the server's side of a handshake: it agrees on the features of the stream,
// authenticates the other side, and tells that side whether it may give the command. The error is
// errDone if the other side only asked whether it may.
func (s *Server) negotiate(call *Call, asked *classad.ClassAd) error {
	only := call.Command == secQuery
	if only {
		number, _ := asked.Literal("AuthCommand").Int()
		call.Command = int(min(max(number, 0), 1<<31-1))
	}
	needs := s.needs(call.Command)
	if len(needs) == 0 || s.isRaw(call.Command) {
		return fmt.Errorf("command %d is not known here, or comes with a handshake and should not", call.Command)
	}
	deal, err := s.agree(needs[0], asked)
	if err != nil {
		return err
	}
	made := &issued{session: session{expires: s.now().Add(deal.duration), lease: deal.lease}}
	private, err := newECDH(s.Random)
	if err != nil {
		return err
	}
	public := ""
	if deal.authentication {
		public = base64.StdEncoding.EncodeToString(private.PublicKey().Bytes())
	}
	call.PutAd(s.policy(deal, public))
	if err = call.Send(); err != nil {
		return err
	}
	if deal.authentication {
		if err = s.identify(call, deal.methods); err != nil {
			return err
		}
		theirs, given := asked.Literal("ECDHPublicKey").Text()
		if !given {
			return errors.New("the other side sends no public key, as versions before 9.0 do, which are not supported")
		}
		if made.key, err = agreedKey(private, theirs); err != nil {
			return err
		}
		if err = call.Encrypt(made.key); err != nil {
			return err
		}
	}
	made.peer = call.Peer
	return s.verdict(call, made, only)
}

// agree decides from both sides' wishes whether to authenticate and encrypt, by which methods, and
// how long the session lasts. Wishes that cannot both be met are an error.
func (s *Server) agree(need Permission, asked *classad.ClassAd) (deal agreement, err error) {
	ours := s.wishes(need)
	var yes [3]bool
	var theirs [3]Level
	for i, feature := range []struct {
		name string
		ours Level
	}{{"Authentication", ours.Authentication}, {"Encryption", ours.Encryption}, {"Integrity", ours.Integrity}} {
		text, _ := asked.Literal(feature.name).Text()
		if theirs[i], err = ParseLevel(text); err != nil {
			return deal, fmt.Errorf("%s: %w", feature.name, err)
		}
		if yes[i], err = agree(feature.ours, theirs[i]); err != nil {
			return deal, fmt.Errorf("%s: %w", feature.name, err)
		}
	}
	listed, _ := asked.Literal("AuthMethods").Text()
	offered := ParseMethods(listed)
	for _, m := range s.methods(need) {
		if slices.Contains(offered, m) {
			deal.methods = append(deal.methods, m)
		}
	}
	crypto, _ := asked.Literal("CryptoMethods").Text()
	aes := slices.ContainsFunc(strings.Split(crypto, ","),
		func(c string) bool { return strings.EqualFold(strings.TrimSpace(c), "AES") })
	// Only an authentication produces a key.
	must := slices.Contains(theirs[:], Required) || ours.Authentication == Required || ours.Encryption == Required ||
		ours.Integrity == Required
	never := ours.Authentication == Never || theirs[0] == Never
	deal.authentication = (yes[0] || yes[1] || yes[2]) && !never && aes && len(deal.methods) > 0
	deal.encryption = deal.authentication
	if must && !deal.authentication && (yes[0] || yes[1] || yes[2]) {
		return deal, fmt.Errorf("no way is left to find out who it is, or to encrypt: methods %.80q and %.80q are offered, "+
			"AES and %s are here", listed, crypto, joined(s.methods(need)))
	}
	deal.duration, deal.lease = sessionDuration, sessionLease
	if text, given := asked.Literal("SessionDuration").Text(); given {
		if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 && seconds < int(sessionDuration/time.Second) {
			deal.duration = time.Duration(seconds) * time.Second
		}
	}
	if seconds, given := asked.Literal("SessionLease").Int(); given && seconds > 0 && seconds < int64(sessionLease/time.Second) {
		deal.lease = time.Duration(seconds) * time.Second
	}
	return deal, nil
}

// methods returns the configured methods for a permission that can work; Token needs signing keys.
func (s *Server) methods(need Permission) []Method {
	configured := s.Methods
	if s.MethodsFor != nil {
		configured = s.MethodsFor(need)
	}
	return slices.DeleteFunc(slices.Clone(configured), func(m Method) bool { return m == Token && len(s.Keys) == 0 })
}

// policy returns the ad that answers the client's offer; public is our public key, or "".
func (s *Server) policy(deal agreement, public string) *classad.ClassAd {
	yesNo := func(yes bool) string {
		if yes {
			return "YES"
		}
		return "NO"
	}
	ad := classad.New()
	ad.SetString("Enact", "YES")
	ad.SetString("Authentication", yesNo(deal.authentication))
	ad.SetString("Encryption", yesNo(deal.encryption))
	ad.SetString("Integrity", yesNo(deal.encryption))
	ad.SetString("AuthMethods", joined(deal.methods))
	ad.SetString("AuthMethodsList", joined(deal.methods))
	ad.SetString("CryptoMethodsList", "AES")
	if public != "" {
		ad.SetString("CryptoMethods", "AES")
		ad.SetString("ECDHPublicKey", public)
	}
	if len(s.Keys) > 0 {
		names := make([]string, 0, len(s.Keys))
		for name := range s.Keys {
			names = append(names, name)
		}
		slices.Sort(names)
		ad.SetString("IssuerKeys", strings.Join(names, ","))
	}
	ad.SetString("TrustDomain", s.TrustDomain)
	ad.SetString("SessionDuration", strconv.Itoa(int(deal.duration/time.Second)))
	ad.SetInt("SessionLease", int64(deal.lease/time.Second))
	ad.SetBool("NegotiatedSession", true)
	ad.SetString("RemoteVersion", Version)
	return ad
}

// maxAttempts is the maximum number of attempts to authenticate on one connection.
const maxAttempts = 8

// identify authenticates the other side by the first of these methods that works, and sets
// call.Peer.
func (s *Server) identify(call *Call, methods []Method) error {
	var failed []error
	for range maxAttempts {
		offered, err := call.Int()
		if err == nil {
			err = call.End()
		}
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		chosen := Method("")
		for _, m := range methods {
			if offered&bits[m] != 0 {
				chosen = m
				break
			}
		}
		call.PutInt(bits[chosen])
		if err = call.Send(); err != nil {
			return errors.Join(append(failed, err)...)
		}
		if chosen == "" {
			return errors.Join(append(failed, errors.New("no method is left by which it could show who it is"))...)
		}
		if err = s.check(call, chosen); err == nil {
			call.Peer.Method = chosen
			call.PutInt(0) // no key follows
			return call.Send()
		}
		failed = append(failed, fmt.Errorf("%s: %w", chosen, err))
		if errors.Is(err, errHangUp) {
			break
		}
		methods = slices.DeleteFunc(slices.Clone(methods), func(m Method) bool { return m == chosen })
	}
	return errors.Join(failed...)
}

// check authenticates the other side by one method, and sets the user and limits of call.Peer.
func (s *Server) check(call *Call, m Method) (err error) {
	switch m {
	case ClaimToBe:
		call.Peer.User, err = s.acceptClaim(call.Stream)
	case FS:
		call.Peer.User, err = s.checkFS(call.Stream)
	default:
		call.Peer.User, call.Peer.Limits, err = s.checkToken(call.Stream)
	}
	return err
}

// acceptClaim accepts the other side's word for who it is (CLAIMTOBE).
func (s *Server) acceptClaim(stream *cedar.Stream) (string, error) {
	status, err := stream.Int()
	if err != nil {
		return "", err
	}
	user := ""
	if status == 1 {
		if user, err = stream.Text(); err != nil {
			return "", err
		}
	}
	if err = stream.End(); err != nil {
		return "", err
	}
	user, wrong := s.account(user)
	verdict := int64(0)
	if status == 1 && wrong == nil {
		verdict = 1
	}
	stream.PutInt(verdict)
	if err = stream.Send(); err != nil {
		return "", err
	}
	if verdict == 0 {
		return "", fmt.Errorf("it claims a name: %w", cmp.Or(wrong, errors.New("it gave up")))
	}
	return user, nil
}

// verdict tells the other side as which user it counts and, unless the command is denied, which
// commands it may give; it stores the session then. A denied command is an error; if the other side
// only asked, the error is errDone.
func (s *Server) verdict(call *Call, made *issued, only bool) error {
	denied := s.authorize(call.Peer, made.key != nil, call.Command)
	ad := classad.New()
	code := "DENIED"
	if denied == nil {
		code = "AUTHORIZED"
		if err := s.issue(made); err != nil {
			return err
		}
		ad.SetString("Sid", made.id)
		ad.SetString("ValidCommands", cmp.Or(s.valid(made), strconv.Itoa(call.Command)))
	}
	ad.SetString("User", call.Peer.User)
	ad.SetString("ReturnCode", code)
	if call.Peer.Method != "" {
		ad.SetBool("TriedAuthentication", true)
	}
	call.PutAd(ad)
	if err := call.Send(); err != nil {
		return err
	}
	if denied != nil || !only {
		return denied
	}
	answer := classad.New()
	answer.SetBool("AuthorizationSucceeded", true)
	call.PutAd(answer)
	if err := call.Send(); err != nil {
		return err
	}
	return errDone
}

// valid returns the list of commands that a peer may give on a session. It leaves out those for
// which the session would count as unknown.
func (s *Server) valid(made *issued) string {
	var may []string
	for _, command := range s.first().Commands {
		if !s.isRaw(command) && s.proof(command) != ByHandshake && s.authorize(made.peer, made.key != nil, command) == nil {
			may = append(may, strconv.Itoa(command))
		}
	}
	return strings.Join(may, ",")
}
