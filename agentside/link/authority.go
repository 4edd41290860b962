package link

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	caLife   = 10 * 365 * 24 * time.Hour
	leafLife = 90 * 24 * time.Hour
	// leafSpare is when a leaf is made anew before its end.
	leafSpare = 30 * 24 * time.Hour
)

// Authority is the appliance's own certificate authority for Agents. The key of its leaf stays, so that a pin of it does.
type Authority struct {
	ca      *x509.Certificate
	caKey   *ecdsa.PrivateKey
	leafKey *ecdsa.PrivateKey
	now     func() time.Time

	// mu guards leaf.
	mu   sync.Mutex
	leaf *tls.Certificate
}

// OpenAuthority reads the authority of a directory, and makes what is missing there: keys and certificate, 0600 in a directory 0700.
func OpenAuthority(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	a := &Authority{now: time.Now}
	var err error
	if a.caKey, err = openKey(filepath.Join(dir, "agents-ca.key")); err != nil {
		return nil, err
	}
	if a.leafKey, err = openKey(filepath.Join(dir, "agents.key")); err != nil {
		return nil, err
	}
	if a.ca, err = openCA(filepath.Join(dir, "agents-ca.crt"), a.caKey, a.now()); err != nil {
		return nil, err
	}
	if _, err := a.certificate(nil); err != nil {
		return nil, err
	}
	return a, nil
}

// Pin is what Agents meet.
func (a *Authority) Pin() (PeerKey, error) {
	c, err := a.certificate(nil)
	if err != nil {
		return PeerKey{}, err
	}
	return KeyOf(c.Leaf), nil
}

// TLS is the configuration of the listener.
func (a *Authority) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: a.certificate, NextProtos: []string{"http/1.1"}}
}

// certificate gives the leaf, a new one when the old one is near its end.
func (a *Authority) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if a.leaf != nil && now.Before(a.leaf.Leaf.NotAfter.Add(-leafSpare)) {
		return a.leaf, nil
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	form := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "Holdfast for agents"}, DNSNames: []string{"holdfast"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(leafLife), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, form, a.ca, &a.leafKey.PublicKey, a.caKey)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a.leaf = &tls.Certificate{Certificate: [][]byte{der, a.ca.Raw}, PrivateKey: a.leafKey, Leaf: leaf}
	return a.leaf, nil
}

func openKey(path string) (*ecdsa.PrivateKey, error) {
	block, err := openBlock(path, "PRIVATE KEY")
	if errors.Is(err, fs.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		return key, writeBlock(path, "PRIVATE KEY", der)
	}
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is not a key of ours", path)
	}
	return key, nil
}

// openCA reads the certificate of the authority; one that is not of this key, or has ended, is made anew: the pin is the leaf's.
func openCA(path string, key *ecdsa.PrivateKey, now time.Time) (*x509.Certificate, error) {
	der, err := openBlock(path, "CERTIFICATE")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if key.PublicKey.Equal(c.PublicKey) && now.Before(c.NotAfter) {
			return c, nil
		}
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "Holdfast authority for agents"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(caLife), IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign}
	der, err = x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	if err := writeBlock(path, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func openBlock(path, kind string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%w: %s can be read by others; make it 0600", ErrRefused, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("%s is damaged; without it a new one is made, which agents must pin anew", path)
	}
	return block.Bytes, nil
}

func writeBlock(path, kind string, der []byte) error {
	return replaceFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
