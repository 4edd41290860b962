package link

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrRefused groups what an Agent itself refuses to dial.
var ErrRefused = errors.New("refused")

const pinPrefix = "sha256:"

// KeyOf is the PeerKey of a certificate.
func KeyOf(c *x509.Certificate) PeerKey { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

// String gives a PeerKey as a pin is written.
func (k PeerKey) String() string { return pinPrefix + hex.EncodeToString(k[:]) }

// ParsePin reads a pin.
func ParsePin(text string) (PeerKey, error) {
	var k PeerKey
	digits, ok := strings.CutPrefix(strings.TrimSpace(text), pinPrefix)
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) != len(k) {
		return k, fmt.Errorf("a pin is %s and 64 hexadecimal digits", pinPrefix)
	}
	copy(k[:], b)
	return k, nil
}

// Dialling says how an Agent reaches its appliance.
type Dialling struct {
	// URL is the appliance's: https, or http to this machine. Insecure allows http to others.
	URL      *url.URL
	Insecure bool
	// Pins are the keys that the appliance may have; with one, no chain of certificates is asked for. None: the system's roots count.
	Pins []PeerKey
	// Roots are the trusted ones without a pin; nil are the system's.
	Roots *x509.CertPool
	// connect makes a connection; nil is the network's.
	connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Check refuses an address to which the Agent must not speak.
func (d Dialling) Check() error {
	if d.URL == nil || d.URL.Host == "" || d.URL.User != nil || d.URL.RawQuery != "" || d.URL.Fragment != "" {
		return fmt.Errorf("%w: the address of the appliance is like https://host:port", ErrRefused)
	}
	switch d.URL.Scheme {
	case "https":
		return nil
	case "http":
		ip := net.ParseIP(d.URL.Hostname())
		if d.Insecure || strings.EqualFold(d.URL.Hostname(), "localhost") || ip != nil && ip.IsLoopback() {
			return nil
		}
		return fmt.Errorf("%w: plain http reaches another machine, where anybody between could listen; use https, or say --insecure-http", ErrRefused)
	}
	return fmt.Errorf("%w: the scheme of the appliance's address is %q, not https", ErrRefused, d.URL.Scheme)
}

// dialled is a client for one connection to the appliance, and whose key it met.
type dialled struct {
	client *http.Client
	// mu guards key.
	mu  sync.Mutex
	key PeerKey
}

func (d *dialled) met() PeerKey {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.key
}

func (d *dialled) meet(key PeerKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.key = key
}

func (d Dialling) client(times Times) *dialled {
	out := &dialled{}
	connect := d.connect
	if connect == nil {
		connect = (&net.Dialer{Timeout: times.Dial, KeepAlive: 15 * time.Second}).DialContext
	}
	secure := func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := connect(ctx, network, address)
		if err != nil {
			return nil, err
		}
		config := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: d.URL.Hostname(), RootCAs: d.Roots}
		if len(d.Pins) > 0 {
			// The pin says whose key it must be; a chain would say less.
			config.InsecureSkipVerify = true
			config.VerifyConnection = func(s tls.ConnectionState) error { return d.checkPin(KeyOf(s.PeerCertificates[0])) }
		}
		conn := tls.Client(raw, config)
		ctx, cancel := context.WithTimeout(ctx, times.Proof)
		defer cancel()
		if err := conn.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(unknownKey(err), raw.Close())
		}
		out.meet(KeyOf(conn.ConnectionState().PeerCertificates[0]))
		return conn, nil
	}
	out.client = &http.Client{Transport: &http.Transport{DialContext: connect, DialTLSContext: secure, DisableKeepAlives: true,
		ResponseHeaderTimeout: times.Proof},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return out
}

func (d Dialling) checkPin(met PeerKey) error {
	if slices.Contains(d.Pins, met) {
		return nil
	}
	return fmt.Errorf("%w: the appliance shows the key %s, which is not the pinned one; if it is truly the appliance's, pin that", ErrRefused, met)
}

// unknownKey adds to a refused certificate which key it has, so that a person can compare it.
func unknownKey(err error) error {
	var unverified *tls.CertificateVerificationError
	if errors.As(err, &unverified) && len(unverified.UnverifiedCertificates) > 0 {
		return fmt.Errorf("%w: the certificate of the appliance is not known here (%w); its key is %s. Compare it with the one that the appliance prints, "+
			"and give it with --pin", ErrRefused, unverified.Err, KeyOf(unverified.UnverifiedCertificates[0]))
	}
	return err
}
