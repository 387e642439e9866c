package config

import (
	"net"
	"slices"
)

// Serving has the settings for what is served over HTTP: the page, its API, metrics and start times.
type Serving struct {
	// HTTP is the address; empty means that nothing is served.
	HTTP string
	// HTTPToken is a file of tokens of which a viewer has to know one; empty means none but HTCondor's.
	HTTPToken string
	// HTTPCertificate and HTTPKey are PEM files for TLS; both are empty for plain HTTP.
	HTTPCertificate, HTTPKey string
	// HTTPNames says whose names viewers see: all, own or none.
	HTTPNames string
}

// names are the values of [Serving.HTTPNames].
var names = []string{"all", "own", "none"}

var serving = []Setting{
	set(func(c *Config) *string { return &c.HTTP }, "", Setting{
		Key: "http", Knob: "BACKFILL_HTTP", Restart: true, Example: "localhost:9620",
		Doc: "HOST:PORT where the page, its API (JSON), metrics (Prometheus) and, of a real pool, /start-times (JSON) are " +
			"served; nothing is where nothing is said.",
		More: "On localhost whoever is on the machine may look, unless there is a file of tokens. Any other address, " +
			"and :PORT, which is all addresses of the machine, needs TLS and tokens, and is refused without.",
		Check: func(c *Config) error {
			_, _, err := net.SplitHostPort(c.HTTP)
			return must(err == nil || c.HTTP == "", c.HTTP, "must be HOST:PORT or :PORT")
		},
	}),
	set(func(c *Config) *string { return &c.HTTPToken }, "", Setting{
		Key: "http_token", Knob: "BACKFILL_HTTP_TOKEN", Restart: true, Example: "/etc/condor/backfill.tokens",
		Doc: "A file with a token in each line, TOKEN or USER: TOKEN, of at least 16 characters: who knows one may look.",
		More: "USER is who the viewer is. Others must not be able to read the file; what is changed in it counts at once. " +
			"On a real pool HTCondor's own tokens count as well: condor_token_create -authz READ makes one.",
	}),
	set(func(c *Config) *string { return &c.HTTPCertificate }, "", Setting{
		Key: "http_certificate", Knob: "BACKFILL_HTTP_CERTIFICATE", Restart: true, Example: "/etc/condor/backfill.pem",
		Doc:  "The certificate for TLS, with those between it and its authority, as a PEM file; plain HTTP where none is said.",
		More: "It is read again when it changes.",
	}),
	set(func(c *Config) *string { return &c.HTTPKey }, "", Setting{
		Key: "http_key", Knob: "BACKFILL_HTTP_KEY", Restart: true, Example: "/etc/condor/backfill.key",
		Doc: "The private key of the certificate, as a PEM file.",
	}),
	set(func(c *Config) *string { return &c.HTTPNames }, "all", Setting{
		Key: "http_names", Knob: "BACKFILL_HTTP_NAMES", Restart: true,
		Doc: "Whose names viewers see: all, own (that of who looks) or none; the others are user 1, user 2, group 1 and so on.",
		More: "Under own, who looks without a token that names him sees none. Where readers may ask the schedds or " +
			"condor_userprio, they learn the names there.",
		Check: func(c *Config) error {
			return must(slices.Contains(names, c.HTTPNames), c.HTTPNames, "must be all, own or none")
		},
	}),
}
