package main

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast/engine/health"
)

// nearEnd is how long before its end a certificate is warned of.
const nearEnd = 30 * 24 * time.Hour

// certificates looks at those in the data directory: the authority that agents meet. Pages are served to this machine alone, without TLS.
func (d doctor) certificates() health.Line {
	l := health.Line{Name: "TLS", State: health.Well}
	path := filepath.Join(d.data, "tls", "agents-ca.crt")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		l.Found = "none is needed: pages are served to this machine alone, and no agents were ever taken"
		return l
	}
	block, _ := pem.Decode(text)
	var c *x509.Certificate
	if err == nil && block == nil {
		err = errors.New("there is no certificate in it")
	}
	if err == nil {
		c, err = x509.ParseCertificate(block.Bytes)
	}
	if err != nil {
		l.State, l.Found, l.Do = health.Failed, path+": "+err.Error(), "Move it away; the next start makes a new one, and agents keep their pin."
		return l
	}
	return endLine(l, c.NotBefore, c.NotAfter, time.Now())
}

func endLine(l health.Line, from, until, now time.Time) health.Line {
	l.Found = fmt.Sprintf("the authority for agents is good until %s; what it signs is renewed by itself", until.UTC().Format(time.DateOnly))
	switch {
	case now.Before(from):
		l.State, l.Found, l.Do = health.Failed, "the authority for agents is good only from "+from.UTC().Format(time.DateOnly)+" on", "The clock may be wrong."
	case now.After(until):
		l.State, l.Found, l.Do = health.Failed, "the authority for agents ended on "+until.UTC().Format(time.DateOnly), "Restart the appliance, which makes a new one."
	case now.After(until.Add(-nearEnd)):
		l.State, l.Do = health.Warning, "Restart the appliance after that day, which makes a new one."
	}
	return l
}
