package access

import (
	"encoding/json"
	"net/http"
)

// policy is what pages may do: use what this server has, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// signInPolicy is the same for the sign-in page, which sends a form.
const signInPolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// secure sets the headers that keep browsers from doing what nobody means here. Nothing is stored
// unless a handler says otherwise. (Without any referrer, a form's Origin would be null.)
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// Refuse answers with an error, as JSON.
func Refuse(out http.ResponseWriter, code int, text string) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(code)
	_ = json.NewEncoder(out).Encode(map[string]string{"error": text})
}
