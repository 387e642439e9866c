package access

import (
	"context"
	"strings"
)

// Viewer is who looks.
type Viewer struct {
	// User is the name that his token gives him, such as ann@pool.test; "" if it gives none, or he
	// needed no token.
	User string
	// Signed reports whether he signed in: he can sign out.
	Signed bool

	good func() bool
}

// Good reports whether the viewer's token still counts: one that streams to him for long asks it now
// and then, as tokens end and are taken out of their file.
func (v Viewer) Good() bool { return v.good == nil || v.good() }

// is reports whether a user of the pool is the viewer. A name without a domain stands for that name
// in any, as a pool's file of tokens or its jobs may leave it out.
func (v Viewer) is(user string) bool {
	if v.User == "" || user == "" {
		return false
	}
	name, domain, full := strings.Cut(v.User, "@")
	other, elsewhere, fuller := strings.Cut(user, "@")
	return name == other && (!full || !fuller || strings.EqualFold(domain, elsewhere))
}

type viewerKey struct{}

// Of returns who makes the request that the context belongs to. Nobody in particular makes one that
// no [Guard] has let in.
func Of(ctx context.Context) Viewer {
	v, _ := ctx.Value(viewerKey{}).(Viewer)
	return v
}

// With returns a context of a request that a viewer makes.
func With(ctx context.Context, v Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}
