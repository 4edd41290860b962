package client

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Bundle is what helps somebody else to find out what is wrong: no secret, prompt or message is in it unless its reader adds one.
type Bundle struct{ Files []BundleFile }

// BundleFile is one file of a Bundle.
type BundleFile struct {
	Name string
	Text []byte
}

// WriteZip writes the files into a zip archive.
func (b Bundle) WriteZip(w io.Writer) error {
	z := zip.NewWriter(w)
	for _, f := range b.Files {
		to, err := z.Create(f.Name)
		if err != nil {
			return err
		}
		if _, err := to.Write(f.Text); err != nil {
			return err
		}
	}
	return z.Close()
}

// maxBundle bounds what is unpacked of a Bundle.
const maxBundle = 64 << 20

// ReadBundle reads what WriteZip wrote.
func ReadBundle(archive []byte) (Bundle, error) {
	var out Bundle
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return out, err
	}
	left := int64(maxBundle)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return out, err
		}
		text, err := io.ReadAll(io.LimitReader(r, left+1))
		if err := errors.Join(err, r.Close()); err != nil {
			return out, err
		}
		if left -= int64(len(text)); left < 0 {
			return out, fmt.Errorf("the support bundle is over %d bytes", maxBundle)
		}
		out.Files = append(out.Files, BundleFile{Name: f.Name, Text: text})
	}
	return out, nil
}

// Bundle gives the appliance's support bundle (admin).
func (c *Client) Bundle(ctx context.Context) (Bundle, error) {
	req, err := c.request(ctx, http.MethodGet, "/system/bundle", nil, nil)
	if err != nil {
		return Bundle{}, err
	}
	res, err := c.do(req)
	if err != nil {
		return Bundle{}, err
	}
	archive, err := io.ReadAll(io.LimitReader(res.Body, maxBundle))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return Bundle{}, err
	}
	return ReadBundle(archive)
}
