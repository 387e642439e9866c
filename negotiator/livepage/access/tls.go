package access

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookAgain is how often files are looked at for changes, at most.
const lookAgain = time.Second

// certificate is a certificate and its key in files. It is read again when one of them changes; as
// long as they do not fit together, the former one counts.
type certificate struct {
	certificate, key string
	clock            func() time.Time
	warn             func(error)

	mu     sync.Mutex
	looked time.Time
	stamp  [2]stamp
	ready  *tls.Certificate
}

// stamp is what changes of a file when it is written to or replaced.
type stamp struct {
	at   time.Time
	size int64
}

func stampOf(file string) stamp {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

// read reads both files.
func (c *certificate) read() error {
	if (c.certificate == "") != (c.key == "") {
		return errors.New("a certificate and its key go together: give both --http-certificate and --http-key, or neither")
	}
	c.looked, c.stamp = c.clock(), [2]stamp{stampOf(c.certificate), stampOf(c.key)}
	if err := private(c.key); err != nil {
		return fmt.Errorf("--http-key: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(c.certificate, c.key)
	if err != nil {
		return fmt.Errorf("--http-certificate and --http-key: %w", err)
	}
	c.ready = &pair
	return nil
}

// get returns the certificate as it is now.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.clock(); now.Sub(c.looked) >= lookAgain {
		c.looked = now
		if c.stamp != [2]stamp{stampOf(c.certificate), stampOf(c.key)} {
			if err := c.read(); err != nil {
				c.warn(fmt.Errorf("the former certificate stays: %w", err))
			}
		}
	}
	return c.ready, nil
}

// names are the names of hosts that the certificate is for.
func (c *certificate) names() []string {
	if c.ready == nil || c.ready.Leaf == nil {
		return nil
	}
	return c.ready.Leaf.DNSNames
}

// private errs if others than the owner and his group may read a file of secrets, or if others than
// the owner may write to it.
func private(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", file)
	case info.Mode().Perm()&0o027 != 0:
		return fmt.Errorf("%s can be read or changed by others: chmod o=,g-w %s", file, file)
	}
	return nil
}

// TLS returns how connections are encrypted; nil for plain HTTP. It is HTTP/1.1 alone: the bounds of
// connections count for it.
func (g *Guard) TLS() *tls.Config {
	if g.certificate == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: g.certificate.get, NextProtos: []string{"http/1.1"},
	}
}
