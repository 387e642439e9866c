package access

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Options say who may look, and where.
type Options struct {
	// Address is where it is served, HOST:PORT or :PORT.
	Address string
	// Host is this machine's name.
	Host string
	// TokenFile has a token in each line, TOKEN or USER: TOKEN; "" for none. With a file viewers need
	// a token on any address.
	TokenFile string
	// Certificate and Key are PEM files for TLS; both "" for plain HTTP.
	Certificate, Key string
	// Bearer checks one of the pool's own tokens, which somebody at an address shows, and returns
	// whose it is; nil if there are none.
	Bearer func(token, address string) (user string, err error)
	// Known is called for each request whose viewer has shown a token; nil for nothing.
	Known func(context.Context)
	// Logger is told of refusals; nil for none.
	Logger hclog.Logger
	// Clock tells the time. Random is the source of sessions' names; nil means the system's.
	Clock  func() time.Time
	Random io.Reader
}

// Guard lets viewers in to what is served. It is safe for concurrent use.
type Guard struct {
	o           Options
	required    bool // nobody looks without a token
	hosts       Hosts
	tokens      *tokens      // nil: there is no file
	certificate *certificate // nil: plain HTTP
	sessions    sessions
	failures    failures
	origins     *http.CrossOriginProtection
	cookie      string
}

// New makes a guard. The error is a [RefusedError]: the files are not right, or others can reach the
// address and something is missing that this needs.
func New(ctx context.Context, o Options) (*Guard, error) {
	g, err := newGuard(ctx, o)
	if err != nil {
		return nil, &RefusedError{err}
	}
	return g, nil
}

func newGuard(ctx context.Context, o Options) (*Guard, error) {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	warn := func(err error) { o.Logger.Warn("the page", "error", err) }
	g := &Guard{
		o: o, sessions: sessions{random: o.Random}, origins: http.NewCrossOriginProtection(),
		hosts: NewHosts(o.Address, o.Host),
	}
	if o.Certificate != "" || o.Key != "" {
		g.certificate = &certificate{certificate: o.Certificate, key: o.Key, clock: o.Clock, warn: warn}
		if err := g.certificate.read(); err != nil {
			return nil, err
		}
		g.hosts = NewHosts(o.Address, o.Host, g.certificate.names()...)
	}
	if o.TokenFile != "" {
		g.tokens = &tokens{file: o.TokenFile, clock: o.Clock, warn: warn}
		if err := g.tokens.read(); err != nil {
			return nil, err
		}
	}
	local, err := isLocal(ctx, o.Address)
	if err != nil {
		return nil, err
	}
	if missing := g.missing(); !local && len(missing) > 0 {
		return nil, lacking(o.Address, missing)
	}
	g.required = !local || g.tokens != nil
	_, port, _ := net.SplitHostPort(o.Address)
	g.cookie = "negotiator-" + port // browsers send cookies to all ports of a host
	return g, nil
}

// missing is what an address that others can reach needs, and is not there.
func (g *Guard) missing() (missing []string) {
	if g.tokens == nil && g.o.Bearer == nil {
		missing = append(missing, "--http-token FILE (BACKFILL_HTTP_TOKEN), or HTCondor's tokens, for which there is no "+
			"signing key or no TRUST_DOMAIN here")
	}
	if g.certificate == nil {
		missing = append(missing, "--http-certificate FILE and --http-key FILE (BACKFILL_HTTP_CERTIFICATE, BACKFILL_HTTP_KEY)")
	}
	return missing
}

// Required reports whether nobody looks without a token.
func (g *Guard) Required() bool { return g.required }

// URL is where the page is found if a listener has this address.
func (g *Guard) URL(at net.Addr) string {
	if g.certificate != nil {
		return "https://" + at.String()
	}
	return "http://" + at.String()
}

// Guarded puts the guard before a handler. What the handler gets is from a viewer who may look and is
// not sent by another site's page; where no token is needed, it calls this machine by one of its names.
func (g *Guard) Guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		secure(out.Header())
		if !g.required && !g.hosts.Called(r.Host) {
			Refuse(out, http.StatusMisdirectedRequest,
				"this machine is not known by that name: use its IP address or its own name")
			return
		}
		if g.origins.Check(r) != nil {
			Refuse(out, http.StatusForbidden, "that came from a page of another site")
			return
		}
		if g.possible() && g.signing(out, r) {
			return
		}
		v, err := g.viewer(r)
		switch {
		case err != nil:
			g.refuse(out, r, err)
		case g.required && v.good == nil:
			g.ask(out, r)
		default:
			if v.good != nil && g.o.Known != nil {
				g.o.Known(r.Context())
			}
			next.ServeHTTP(out, r.WithContext(With(r.Context(), v)))
		}
	})
}

// possible reports whether there are tokens at all.
func (g *Guard) possible() bool { return g.tokens != nil || g.o.Bearer != nil }

// viewer returns who makes a request: by the token in it, by the session that it belongs to, or
// nobody in particular. A wrong token is an error, a session that is over is none.
func (g *Guard) viewer(r *http.Request) (Viewer, error) {
	address := addressOf(r)
	if shown := r.Header.Get("Authorization"); shown != "" {
		kind, credential, _ := strings.Cut(shown, " ")
		if !strings.EqualFold(kind, "Bearer") {
			return Viewer{}, fmt.Errorf("%w: it is not shown as Authorization: Bearer TOKEN", errWrong)
		}
		credential = strings.TrimSpace(credential)
		user, err := g.user(credential, address)
		if err != nil {
			return Viewer{}, err
		}
		good := func() bool { return g.still(user, credential, address) }
		return Viewer{User: user, good: good}, nil
	}
	for _, cookie := range r.CookiesNamed(g.cookie) {
		name := cookie.Value
		credential, ok := g.sessions.credential(name, g.o.Clock())
		if !ok {
			continue
		}
		user, err := g.user(credential, address)
		if err != nil {
			g.sessions.end(name)
			continue
		}
		return Viewer{User: user, Signed: true, good: func() bool {
			_, lasts := g.sessions.credential(name, g.o.Clock())
			return lasts && g.still(user, credential, address)
		}}, nil
	}
	return Viewer{}, nil
}

// still reports whether a token still counts, and for the same user.
func (g *Guard) still(user, credential, address string) bool {
	now, err := g.user(credential, address)
	return err == nil && now == user
}

// errWrong says no more than that, to whoever tries tokens.
var errWrong = errors.New("that token does not open this page")

// user returns whose token it is that somebody at an address shows.
func (g *Guard) user(credential, address string) (string, error) {
	if g.tokens != nil {
		if user, ok := g.tokens.user(credential); ok {
			return user, nil
		}
	}
	if g.o.Bearer == nil || strings.Count(credential, ".") != 2 {
		return "", errWrong
	}
	user, err := g.o.Bearer(credential, address)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errWrong, err)
	}
	return user, nil
}

// refuse answers to a wrong token.
func (g *Guard) refuse(out http.ResponseWriter, r *http.Request, why error) {
	code, text := g.failed(out, r, why)
	Refuse(out, code, text)
}

// failed counts a wrong token, and returns what is answered.
func (g *Guard) failed(out http.ResponseWriter, r *http.Request, why error) (code int, text string) {
	tooMany, told := g.failures.note(hostOf(r), g.o.Clock())
	if told > 0 {
		g.o.Logger.Warn("a viewer is refused", "address", addressOf(r), "reason", why, "since_last_told", told)
	}
	if tooMany {
		out.Header().Set("Retry-After", strconv.Itoa(int(failurePause/time.Second)))
		return http.StatusTooManyRequests, "too many wrong tokens came from that address: wait a while"
	}
	out.Header().Set("WWW-Authenticate", `Bearer realm="negotiator"`)
	return http.StatusUnauthorized, errWrong.Error()
}
