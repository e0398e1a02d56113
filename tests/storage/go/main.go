// Makes go_url_vectors.json: what Go's net/url, path and encoding/json answer for many texts.
//
//	go run . > ../go_url_vectors.json
//
// The tests read the data and need no Go. Made with Go 1.26; net/url grows stricter over the
// years, so a newer Go may change a vector: then sedna_render/go_url.py follows.
package main

import (
	"encoding/json"
	"math/rand"
	"net/url"
	"os"
	"path"
	"runtime"
	"strings"
	"unicode"
)

type parsed struct {
	Text     string `json:"text"`
	Error    string `json:"error,omitempty"`
	Scheme   string `json:"scheme,omitempty"`
	Opaque   string `json:"opaque,omitempty"`
	User     bool   `json:"user,omitempty"`
	Host     []byte `json:"host,omitempty"`
	Path     []byte `json:"path,omitempty"`
	RawQuery string `json:"rawQuery,omitempty"`
	Fragment []byte `json:"fragment,omitempty"`
}

func parse(text string) parsed {
	u, err := url.Parse(text)
	if err != nil {
		return parsed{Text: text, Error: err.(*url.Error).Err.Error()}
	}
	return parsed{text, "", u.Scheme, u.Opaque, u.User != nil, []byte(u.Host), []byte(u.Path), u.RawQuery, []byte(u.Fragment)}
}

var written = strings.Split(`
/
/model.pb
/data/model.pb
/data//x/../m.pb
//host/p/m.pb
///a/b
////a
models/m.pb
./m.pb
../m.pb
m.pb
*
/*
*/
*?x
*#x
/my%20dir/m.pb
/my dir/m.pb
/a#b/m.pb
/a?b=c/m.pb
/a??
/a?
?
#
?#
#?
/a:b/m.pb
a:b/m.pb
a/b:c
1a:b
a1+-.:b
-a:b
+a:b
a_b:c
é:b
:x
:
a:
a:/
a://
A://B
a:///
a:////b
%zz
%
/%
/%2
/x%zz/m.pb
/%2f%2F%20
/%ff/%c3%a9/%c3
/%00%0a
/a%25zz
/a#%zz
/a#%41%20
/a?%zz
s3:b%zz
s3://bucket/path/model.pb
s3://bucket/path/
s3://bucket
s3://bucket/
S3://Bucket/m.pb
s3://bucket/../../etc/passwd
s3:///m.pb
s3:/m.pb
s3:m.pb
s3:?a
s3:#a
s3://u:p@bucket/m.pb
s3://u@bucket/m.pb
s3://@bucket/m.pb
s3://:@bucket/m.pb
s3://u:p@q@bucket/m.pb
s3://u:p:q@bucket/m.pb
s3://u%20x:p%zz@bucket/m.pb
s3://u x@bucket/m.pb
s3://u[x@bucket/m.pb
s3://é@bucket/m.pb
s3://u%2fx@bucket/m.pb
s3://bucket?x/y
s3://bucket#x/y
s3://bucket/a%20b/m.pb
http://h:8080/a/m.pb?sig=1#x
http://h:/a
http://h:80a/a
http://h:-1/a
http://h:99999999/a
http://h:80:90/a
s3://h:80:90/a
s3://a:b:90/a
s3://h:80,i:90/a
http://::1/a
http://h%20x/a
http://h x/a
http://h%41/a
http://h%c3%a9/a
http://h%ff/a
http://é/a
http://h%25/a
http://h<>"'!$&()*+,;=~_/a
http://h\/a
http://h^/a
http://h{}/a
http://h|/a
http://h`+"`"+`/a
http://[::1]/a
http://[::1]:80/a
http://[::1]:/a
http://[::1]x/a
http://[::1]:x/a
http://[::1/a
http://::1]/a
http://x[::1]/a
http://[]/a
http://[1.2.3.4]/a
http://[::ffff:1.2.3.4]/a
http://[::ffff:1.2.3.4%25a]/a
http://[::1.2.3.04]/a
http://[fe80::1%25en0]/a
http://[fe80::1%25en%20x]/a
http://[fe80::1%25]/a
http://[fe80::1%en0]/a
http://[fe80::1%25en%41]/a
http://[fe80::1%25en%2f]/a
http://[fe80::1%25a%25b]/a
http://[fe80::1%25é]/a
http://[fe80::1%25%c3%a9]/a
http://[fe80::1%25a|b]/a
http://[FE80::1]/a
http://[1:2:3:4:5:6:7:8]/a
http://[1:2:3:4:5:6:7:8:9]/a
http://[::1]]/a
http://[[::1]/a
http://[::12345]/a
http://[x]/a
http://[::1%41]/a
http://u@[::1]:80/a
https://h
https://h?
https://h/?
https://h/;x
https://h/a;v=1/b;w=2
https:h/a
https:/h/a
https:///h/a
file:///m.pb
file://m.pb
file:m.pb
obs://b/m.pb
pvc://x/m.pb
pvc://X_y/m.pb
mailto:a@b
urn:a:b
C:\models\m.pb
C:/models/m.pb
\\server\share
localhost:8080/m.pb
127.0.0.1:8080/m.pb
 /x
/x 
 http://h/a
http ://h/a
/模型/m.pb
模型/m.pb
http://模型/m.pb
`, "\n")

func texts(source *rand.Rand) []string {
	all := append([]string{""}, written[1:len(written)-1]...)
	all = append(all, "\t/x", "/x\x7f/m.pb", "/x\x00", "/x\n", "/a#\x01", "/a#b\x7f", "http://h\r/a", "/x\u0085", "/\u2028")
	pieces := []string{"/", "/", "//", ":", "@", "?", "#", "%", "%20", "%2F", "%41", "%c3%a9", "%ff", "%25", "[", "]", "[::1]",
		"a", "b", "s3:", "http:", "https://", "pvc://", "..", ".", "80", " ", "+", "é", "~", "*", ";", "=", "&", "\\", "^", "-", "_", "x:y", "\x01"}
	for range 400 {
		text := ""
		for range 1 + source.Intn(8) {
			text += pieces[source.Intn(len(pieces))]
		}
		all = append(all, text)
	}
	return all
}

func paths(source *rand.Rand) map[string]string {
	cleaned := map[string]string{}
	pieces := []string{"/", "/", ".", "..", "a", "b", "//", " ", "é"}
	for range 250 {
		text := ""
		for range source.Intn(9) {
			text += pieces[source.Intn(len(pieces))]
		}
		cleaned[text] = path.Clean(text)
	}
	return cleaned
}

type joined struct {
	Parts []string `json:"parts"`
	Path  string   `json:"path"`
}

func joins() []joined {
	all := []joined{}
	for _, parts := range [][]string{
		{}, {""}, {"", ""}, {"a"}, {"a", "b"}, {"a", ""}, {"", "a"}, {"/", "a"}, {"/a", "/b"}, {"/a/", "../b"},
		{"/a", "../../b"}, {"a", "../../b"}, {"", "/", ""}, {"/downloads", "h:80", "/x//y/."}, {".", "."},
	} {
		all = append(all, joined{parts, path.Join(parts...)})
	}
	return all
}

// Runes beyond ASCII whose lower case is ASCII: they survive Sedna's naming of volumes.
func lowered() map[string]string {
	found := map[string]string{}
	for r := rune(128); r <= unicode.MaxRune; r++ {
		if low := strings.ToLower(string(r)); low[0] < 128 {
			found[string(r)] = low
		}
	}
	return found
}

func encoded() map[string]string {
	texts := map[string]string{}
	for r := range rune(0x100) {
		text, _ := json.Marshal("a" + string(r))
		texts["a"+string(r)] = string(text)
	}
	for _, text := range []string{"", "<&>", "\u2027\u2028\u2029\u202a", "模型😀\ufeff\ufffd\U0010ffff", "a\\\"/'`"} {
		out, _ := json.Marshal(text)
		texts[text] = string(out)
	}
	return texts
}

func main() {
	source := rand.New(rand.NewSource(1))
	urls, seen := []parsed{}, map[string]bool{}
	for _, text := range texts(source) {
		if !seen[text] {
			seen[text] = true
			urls = append(urls, parse(text))
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]any{
		"madeWith": runtime.Version(), "parse": urls, "clean": paths(source), "join": joins(),
		"lower": lowered(), "json": encoded(),
	}); err != nil {
		panic(err)
	}
}
