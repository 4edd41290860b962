package mcp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"strings"
	"sync"
	"testing"

	lib "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// painted is a PNG of that size.
func painted(t testing.TB, w, h int) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = byte(i * 7 / w)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bomb is a small PNG that says that it has 900 million pixels.
func bomb(t testing.TB) []byte {
	t.Helper()
	b := painted(t, 8, 8)
	at := bytes.Index(b, []byte("IHDR"))
	binary.BigEndian.PutUint32(b[at+4:], 30000)
	binary.BigEndian.PutUint32(b[at+8:], 30000)
	binary.BigEndian.PutUint32(b[at+17:], crc32.ChecksumIEEE(b[at:at+17]))
	return b
}

// torn is a PNG whose pixels are not those of its checksum.
func torn(t testing.TB) []byte {
	t.Helper()
	b := painted(t, 8, 8)
	at := bytes.Index(b, []byte("IDAT"))
	size := int(binary.BigEndian.Uint32(b[at-4:]))
	b[at+4+size] ^= 0xff
	return b
}

// camera is a server whose tools answer with pictures and sounds.
func camera(t testing.TB) *server.MCPServer {
	t.Helper()
	s := server.NewMCPServer("camera", "1", server.WithToolCapabilities(true))
	for name, content := range map[string][]lib.Content{
		"snap":  {lib.NewTextContent("the harbour"), shown(painted(t, 40, 30)), shown(painted(t, 5, 5)), lib.NewAudioContent("AAAA", "audio/wav")},
		"wide":  {shown(painted(t, 3136, 20))},
		"bomb":  {lib.NewTextContent("look"), shown(bomb(t))},
		"torn":  {lib.NewTextContent("the quay"), shown(torn(t))},
		"fake":  {lib.NewImageContent(base64.StdEncoding.EncodeToString([]byte("<svg onload=alert(1)>")), "image/png")},
		"sound": {lib.NewAudioContent(base64.StdEncoding.EncodeToString([]byte("RIFF\x04\x00\x00\x00WAVEfmt ")), "audio/wav")},
		"page":  {lib.NewAudioContent(base64.StdEncoding.EncodeToString([]byte("<!doctype html><script>")), "audio/mpeg; x=../../a")},
	} {
		s.AddTool(lib.NewTool(name, lib.WithDescription("d"), lib.WithString("text")), func(context.Context, lib.CallToolRequest) (*lib.CallToolResult, error) {
			return &lib.CallToolResult{Content: content}, nil
		})
	}
	return s
}

func shown(b []byte) lib.Content {
	return lib.NewImageContent(base64.StdEncoding.EncodeToString(b), "image/png")
}

// looking are two models that make the Calls they are told, of which the first sees; sent gives the last request's messages.
func looking(t *testing.T) (a *apitest.Appliance, sees, blind chat.ModelConfigID, sent func() []scripted.Message) {
	t.Helper()
	var mu sync.Mutex
	var last []scripted.Message
	answer := func(p *scripted.Prompt) scripted.Reply {
		mu.Lock()
		last = p.Messages
		mu.Unlock()
		return calls(p)
	}
	a = apitest.Start(t, apitest.Options{Answer: answer, Server: scripted.Options{Models: []scripted.Model{{Name: "seeing:latest", Answer: answer,
		Capabilities: []string{"completion", "tools", "vision"}}}}})
	all, err := a.Client.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Model == apitest.Model {
			blind = m.ID
		} else {
			sees = m.ID
		}
	}
	every := []string{"snap", "wide", "bomb", "torn", "fake", "sound", "page"}
	add(t, a, "cam", web(t, server.NewStreamableHTTPServer(camera(t))), func(f *client.MCPServerFields) { f.ReadOnlyTools = &every })
	return a, sees, blind, func() []scripted.Message {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
}

// look has a model make Calls in a new Chat.
func look(t *testing.T, a *apitest.Appliance, model chat.ModelConfigID, text string) (chat.ID, map[string]client.Part) {
	t.Helper()
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{ModelConfigID: model, Content: client.Text(text)})
	if err != nil {
		t.Fatal(err)
	}
	return c.ID, results(a.Rests(t, c.ID))
}

// imagesOf gives the images of a request, and the text of the Result of a tool.
func imagesOf(sent []scripted.Message, tool string) (images [][]byte, text string) {
	for _, m := range sent {
		for _, i := range m.Images {
			b, err := base64.StdEncoding.DecodeString(i)
			if err != nil {
				b = nil
			}
			images = append(images, b)
		}
		if m.ToolName == tool {
			text = m.Content
		}
	}
	return images, text
}

// Case 39: the first picture reaches a model that sees, as small as it must be, and the person; the rest is counted.
func TestPicturesOfATool(t *testing.T) {
	t.Parallel()
	a, sees, _, sent := looking(t)
	id, got := look(t, a, sees, "cam__snap")
	p := got["cam__snap"]
	images, text := imagesOf(sent(), "cam__snap")
	if len(images) != 1 || !bytes.Equal(images[0], painted(t, 40, 30)) || !strings.Contains(text, "the harbour") || !strings.Contains(text, "[image: snap.png, 40 x 30]") ||
		!strings.Contains(text, "2 more parts") || strings.Contains(text, "left out: the model") {
		t.Errorf("the model was sent %d images with %s", len(images), text)
	}
	kept, err := a.Client.Download(t.Context(), chat.FileID(p.FileID))
	if err != nil || !bytes.Equal(kept, painted(t, 40, 30)) || p.MediaType != "image/png" || p.Name != "snap.png" {
		t.Errorf("kept: %d bytes, %v, %+v", len(kept), err, p)
	}
	_, got = look(t, a, sees, "cam__wide")
	if images, _ := imagesOf(sent(), "cam__wide"); len(images) != 1 {
		t.Errorf("%d images", len(images))
	} else if about, _, err := image.DecodeConfig(bytes.NewReader(images[0])); err != nil || about.Width != 1568 || about.Height != 10 {
		t.Errorf("the wide one came as %+v, %v, %+v", about, err, got["cam__wide"])
	}
	// The next Turn has it, too, and so have a copy and an import.
	if _, err := a.Client.Send(t.Context(), id, client.MessageSend{Content: client.Text("and now?")}); err != nil {
		t.Fatal(err)
	}
	held := a.Rests(t, id)
	if images, _ := imagesOf(sent(), ""); len(images) != 1 {
		t.Errorf("the next turn has %d images", len(images))
	}
	fork, err := a.Client.Fork(t.Context(), id, held.Messages[len(held.Messages)-1].ID)
	if err != nil {
		t.Fatal(err)
	}
	checkCopy(t, a, fork.ID)
	body, err := a.Client.Export(t.Context(), id, "json")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	file, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	imported, err := a.Client.Import(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	checkCopy(t, a, imported.ID)
}

// checkCopy holds the picture of a copied Chat against the one that was taken.
func checkCopy(t *testing.T, a *apitest.Appliance, id chat.ID) {
	t.Helper()
	p := results(a.Rests(t, id))["cam__snap"]
	if kept, err := a.Client.Download(t.Context(), chat.FileID(p.FileID)); err != nil || !bytes.Equal(kept, painted(t, 40, 30)) {
		t.Errorf("the copy has %d bytes, %v, %+v", len(kept), err, p)
	}
}

// Case 39: a model that does not see is told so, the person has the picture all the same.
func TestPicturesForAModelThatDoesNotSee(t *testing.T) {
	t.Parallel()
	a, _, blind, sent := looking(t)
	_, got := look(t, a, blind, "cam__snap")
	images, text := imagesOf(sent(), "cam__snap")
	if len(images) != 0 || !strings.Contains(text, "[image left out: the model cannot see]") {
		t.Errorf("%d images, %s", len(images), text)
	}
	if _, err := a.Client.Download(t.Context(), chat.FileID(got["cam__snap"].FileID)); err != nil {
		t.Error(err)
	}
}

// Pictures that would cost gigabytes, or are none, are left out with the reason; sounds are attached and never served as what they claim.
func TestHostileMedia(t *testing.T) {
	t.Parallel()
	a, sees, _, sent := looking(t)
	_, got := look(t, a, sees, "cam__bomb cam__torn cam__fake cam__sound cam__page")
	if images, text := imagesOf(sent(), "cam__torn"); len(images) != 0 || !strings.Contains(text, "the quay") || !strings.Contains(text, "[image left out: it cannot be read]") {
		t.Errorf("%d images were sent, and %q", len(images), text)
	}
	for name, want := range map[string]string{"cam__bomb": "[image left out: its 30000 x 30000 pixels are more than 16 million]",
		"cam__torn": "[image left out: it cannot be read]", "cam__fake": "[image left out: it is not PNG, JPEG, GIF or WebP]", "cam__sound": "[audio: sound.wav, 16 bytes, attached", "cam__page": "[audio: page.audio, 23 bytes, attached"} {
		if p := got[name]; p.IsError || !strings.Contains(string(p.Result), want) || (p.FileID == "") != strings.Contains(want, "left out") {
			t.Errorf("%s: %+v, %s", name, p, p.Result)
		}
	}
	if s, p := got["cam__sound"].MediaType, got["cam__page"].MediaType; s != "audio/wave" || p != "text/plain" {
		t.Errorf("they count as %s and %s", s, p)
	}
}

// A Chat keeps so many files of its tools, and those of a person stay.
func TestTooManyPictures(t *testing.T) {
	t.Parallel()
	a, sees, _, sent := looking(t)
	var inputs []client.Input
	for i := range chat.MaxMessageFiles {
		f, err := a.Client.Upload(t.Context(), fmt.Sprintf("own-%d.txt", i), strings.NewReader(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, client.FileInput(f))
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{ModelConfigID: sees, Content: append(inputs, client.Text("cam__snap")...)})
	if err != nil {
		t.Fatal(err)
	}
	for range chat.MaxToolFiles + 1 {
		a.Rests(t, c.ID)
		if _, err := a.Client.Send(t.Context(), c.ID, client.MessageSend{Content: client.Text("cam__snap")}); err != nil {
			t.Fatal(err)
		}
	}
	held := a.Rests(t, c.ID)
	images, _ := imagesOf(sent(), "")
	gone := 0
	for _, m := range sent() {
		if strings.Contains(m.Content, chat.TextNoImage) {
			gone++
		}
	}
	if len(images) != chat.MaxToolFiles || gone != 2 {
		t.Errorf("%d images, %d gone", len(images), gone)
	}
	for _, p := range held.Messages[0].Content {
		if p.Type != chat.PartFile {
			continue
		}
		if _, err := a.Client.Download(t.Context(), chat.FileID(p.FileID)); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// Case 6 for servers, and 39: a long answer is cut, and lies whole where read_file finds it; one over 8 MiB ends the Call.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line of the log\n", 20_000)
	s := library()
	s.AddTool(lib.NewTool("log", lib.WithDescription("d"), lib.WithString("text")), func(context.Context, lib.CallToolRequest) (*lib.CallToolResult, error) {
		return lib.NewToolResultText("first\n" + long + "last"), nil
	})
	path := ""
	a := apitest.Start(t, apitest.Options{Answer: func(p *scripted.Prompt) scripted.Reply {
		if strings.HasPrefix(p.User(), "read") && len(p.Results()) == 0 {
			return scripted.Calls(scripted.Call{Name: "read_file", Args: json.RawMessage(`{"path":"` + path + `","limit":3}`)})
		}
		return calls(p)
	}})
	add(t, a, "b", web(t, server.NewStreamableHTTPServer(s)), func(f *client.MCPServerFields) { f.ReadOnlyTools = &[]string{"log", "huge", "shape"} })
	w, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Name: "here", Kind: chat.WorkspaceLocal, Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{WorkspaceID: w.ID, Content: client.Text("b__log b__huge b__shape")})
	if err != nil {
		t.Fatal(err)
	}
	got := results(a.Rests(t, c.ID))
	p := got["b__log"]
	_, after, found := strings.Cut(string(p.Result), "bytes left out; the whole is in ")
	path, _, _ = strings.Cut(after, " ...]")
	if !found || !p.Truncated || p.FullBytes != int64(len(long)+10) || len(p.Result) > 33<<10 || !strings.Contains(string(p.Result), "first") || !strings.Contains(string(p.Result), "last") {
		t.Fatalf("%d bytes, cut: %v of %d, in %q", len(p.Result), p.Truncated, p.FullBytes, path)
	}
	if p := got["b__huge"]; !p.IsError || !strings.Contains(string(p.Result), "8 MiB") {
		t.Errorf("12 MB: %s", p.Result)
	}
	if text := string(got["b__shape"].Result); !strings.Contains(text, "a text") || !strings.Contains(text, `\"n\":1`) {
		t.Errorf("shape: %s", text)
	}
	if _, err := a.Client.Send(t.Context(), c.ID, client.MessageSend{Content: client.Text("read it")}); err != nil {
		t.Fatal(err)
	}
	if p := results(a.Rests(t, c.ID))["read_file"]; p.IsError || !strings.Contains(string(p.Result), `"total_lines":20002`) {
		t.Errorf("%s is read as %s", path, p.Result)
	}
	// Without a Workspace there is no place for it.
	_, held := says(t, a, "b__log", nil)
	if p := results(held)["b__log"]; !p.Truncated || strings.Contains(string(p.Result), "the whole is in") || !strings.Contains(string(p.Result), "bytes left out ...]") {
		t.Errorf("without a workspace: %v", p.Truncated)
	}
}
