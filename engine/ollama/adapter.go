package ollama

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/slot"
)

// Defaults of Options.
const (
	DefaultURL       = "http://127.0.0.1:11434"
	DefaultKeepAlive = "30m"
)

const (
	showTimeout   = 10 * time.Second
	statusTimeout = 3 * time.Second
	showTTL       = time.Minute
	// loadCheck is how long nothing may come before the adapter asks whether the model is still being loaded.
	loadCheck = time.Second
	// lineBuffer is small since an idle stream holds one; longer lines are collected beside it.
	lineBuffer = 4 << 10
)

// Options configure an Adapter; the zero value speaks to a server on this machine.
type Options struct {
	// URL is the server's base address (ParseURL); nil is DefaultURL.
	URL *url.URL
	// Client makes all requests. It must have no Timeout, and its transport ask for no compression: frames must not wait in a compressor.
	Client *http.Client
	Log    *slog.Logger
	// Slots is how many calls of one model run at once; below 1 is 1.
	Slots int
	// KeepAlive is sent where a request names none; "" is DefaultKeepAlive.
	KeepAlive string
	// TempDir is where an import that cannot be read twice is kept meanwhile; "" is the system's.
	TempDir string
	// Memory gives the bytes that models can use; nil looks at this machine when the server runs on it.
	Memory func(ctx context.Context) int64
}

// Adapter speaks to one model server. It is safe for concurrent use.
type Adapter struct {
	base      string
	address   string
	client    *http.Client
	log       *slog.Logger
	keepAlive string
	tempDir   string
	memory    func() int64
	slots     *slot.Slots
	shown     *showCache
	readers   sync.Pool
	// tools is the last encoded tool list: Steps of a Turn, and mostly all Turns, send the same one.
	tools atomic.Pointer[encodedTools]
	// system is the last encoded system text, for the same reason.
	system atomic.Pointer[encodedSystem]
}

var (
	_ chat.Model       = (*Adapter)(nil)
	_ chat.ModelServer = (*Adapter)(nil)
)

// New makes an Adapter. It does not touch the network.
func New(o Options) *Adapter {
	if o.URL == nil {
		o.URL = &url.URL{Scheme: "http", Host: "127.0.0.1:11434"}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.KeepAlive == "" {
		o.KeepAlive = DefaultKeepAlive
	}
	if o.Memory == nil {
		o.Memory = func(context.Context) int64 { return 0 }
		if loopback(o.URL.Hostname()) {
			o.Memory = machineMemory
		}
	}
	return &Adapter{
		base:      strings.TrimSuffix(o.URL.String(), "/"),
		address:   o.URL.Host,
		client:    o.Client,
		log:       o.Log,
		keepAlive: o.KeepAlive,
		tempDir:   o.TempDir,
		memory: sync.OnceValue(func() int64 {
			ctx, cancel := context.WithTimeout(context.Background(), statusTimeout)
			defer cancel()
			return o.Memory(ctx)
		}),
		slots:   slot.New(o.Slots),
		shown:   newShowCache(),
		readers: sync.Pool{New: func() any { return bufio.NewReaderSize(nil, lineBuffer) }},
	}
}

// ParseURL reads an address as OLLAMA_HOST is written: host, host:port or a URL; without a scheme the port defaults to 11434.
// An address to bind to (0.0.0.0, ::) becomes loopback. "" is DefaultURL.
func ParseURL(s string) (*url.URL, error) {
	s = strings.Trim(strings.TrimSpace(s), `"'`)
	if s == "" {
		s = DefaultURL
	}
	port := ""
	if !strings.Contains(s, "://") {
		s, port = "http://"+s, "11434"
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the address of a model server begins with http:// or https://")
	}
	host := u.Hostname()
	switch host {
	case "":
		return nil, errors.New("the address of the model server names no host")
	case "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	if u.Port() != "" {
		port = u.Port()
	}
	switch {
	case port != "":
		u.Host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		u.Host = "[" + host + "]"
	default:
		u.Host = host
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawQuery, u.Fragment = "", ""
	return u, nil
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
