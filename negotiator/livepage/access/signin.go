package access

import (
	_ "embed" // the page
	"html/template"
	"net/http"
	"strings"
)

//go:embed signin.html
var signInText string

//go:embed signin.css
var signInStyle []byte

var signInPage = template.Must(template.New("sign-in").Parse(signInText))

// longestForm is how long the form may be in which a token comes, in bytes.
const longestForm = 16 << 10

// Where browsers sign in and out.
const (
	signInPath  = "/sign-in"
	signOutPath = "/sign-out"
	stylePath   = "/sign-in.css"
)

// signing serves what signing in and out takes, and reports whether a request was about that.
func (g *Guard) signing(out http.ResponseWriter, r *http.Request) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch path := r.URL.Path; {
	case path == stylePath && reads:
		out.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = out.Write(signInStyle)
	case path == signInPath && reads:
		showSignIn(out, http.StatusOK, "")
	case path == signInPath && r.Method == http.MethodPost:
		g.signIn(out, r)
	case path == signOutPath && r.Method == http.MethodPost:
		g.signOut(out, r)
	case path == signInPath, path == stylePath:
		out.Header().Set("Allow", "GET, HEAD, POST")
		Refuse(out, http.StatusMethodNotAllowed, "only GET, HEAD and POST are served")
	case path == signOutPath:
		out.Header().Set("Allow", http.MethodPost)
		Refuse(out, http.StatusMethodNotAllowed, "signing out is a POST")
	default:
		return false
	}
	return true
}

// ask asks for a token: a browser at the sign-in page, others by an error. A browser keeps the part
// of the address behind # on the way there and back.
func (g *Guard) ask(out http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Redirect(out, r, signInPath, http.StatusSeeOther)
		return
	}
	out.Header().Set("WWW-Authenticate", `Bearer realm="negotiator"`)
	Refuse(out, http.StatusUnauthorized, "show a token: Authorization: Bearer TOKEN, or sign in at "+signInPath)
}

func showSignIn(out http.ResponseWriter, code int, wrong string) {
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	out.Header().Set("Content-Security-Policy", signInPolicy)
	out.WriteHeader(code)
	_ = signInPage.Execute(out, wrong)
}

func (g *Guard) signIn(out http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(out, r.Body, longestForm)
	if err := r.ParseForm(); err != nil {
		showSignIn(out, http.StatusBadRequest, "That could not be read.")
		return
	}
	credential := strings.TrimSpace(r.PostForm.Get("token"))
	if _, err := g.user(credential, addressOf(r)); err != nil {
		code, text := g.failed(out, r, err)
		showSignIn(out, code, strings.ToUpper(text[:1])+text[1:]+".")
		return
	}
	name, err := g.sessions.begin(credential, g.o.Clock())
	if err != nil {
		Refuse(out, http.StatusInternalServerError, "no session could be made: there is no randomness")
		return
	}
	http.SetCookie(out, g.cookieOf(r, name, int(lastsFor.Seconds())))
	http.Redirect(out, r, "/", http.StatusSeeOther)
}

func (g *Guard) signOut(out http.ResponseWriter, r *http.Request) {
	for _, cookie := range r.CookiesNamed(g.cookie) {
		g.sessions.end(cookie.Value)
	}
	http.SetCookie(out, g.cookieOf(r, "", -1))
	http.Redirect(out, r, signInPath, http.StatusSeeOther)
}

// cookieOf makes the cookie of a session. Other sites cannot send it, scripts cannot read it, and it
// goes over TLS alone if it came so, be it to a proxy.
func (g *Guard) cookieOf(r *http.Request, value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: g.cookie, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	}
}
