package security

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
)

// revocationSteps bounds the evaluation of Server.Revoked, whose ad is what a peer says: time for a
// list of thousands of tokens.
const revocationSteps = 10 * classad.FewSteps

// stillGood returns an error if a token with a good signature is no longer accepted: it is too old,
// or revoked. Where that cannot be told, it is not accepted (Condor_Auth_Passwd::isTokenRevoked and
// analyze_token).
func (s *Server) stillGood(t token) error {
	if s.MaxAge > 0 {
		age := s.now().Sub(time.Unix(t.IssuedAt, 0))
		if t.IssuedAt <= 0 || age > s.MaxAge {
			return fmt.Errorf("it is older than SEC_TOKEN_MAX_AGE (%v), or does not say when it was issued (iat)", s.MaxAge)
		}
	}
	if s.Revoked == nil {
		return nil
	}
	claims, err := t.claims()
	if err != nil {
		return err
	}
	now := s.now().Unix()
	host := &classad.Host{Now: func() int64 { return now }}
	v := s.Revoked.Eval(classad.Scope{My: claims, MaxSteps: revocationSteps, Host: host})
	revoked, known := v.Bool()
	if n, isNumber := v.Number(); isNumber {
		revoked, known = n != 0, true
	}
	switch {
	case !known:
		return fmt.Errorf("SEC_TOKEN_REVOCATION_EXPR is %v of it, neither true nor false", v.Kind())
	case revoked:
		return errors.New("it is revoked by SEC_TOKEN_REVOCATION_EXPR")
	}
	return nil
}

// claims returns the token's claims as an ad. Lists and objects are left out, as HTCondor does.
func (t token) claims() (*classad.ClassAd, error) {
	_, payload, _ := strings.Cut(t.signed, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var all map[string]any
	if err = decoder.Decode(&all); err != nil {
		return nil, err
	}
	ad := classad.New()
	for name, value := range all {
		switch v := value.(type) {
		case string:
			ad.SetString(name, v)
		case bool:
			ad.SetBool(name, v)
		case json.Number:
			if n, wrong := strconv.ParseInt(v.String(), 10, 64); wrong == nil {
				ad.SetInt(name, n)
			} else if f, wrong := v.Float64(); wrong == nil {
				ad.SetReal(name, f)
			}
		}
	}
	return ad, nil
}
