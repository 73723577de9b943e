package frame

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"path"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
)

//go:embed assets/*.css assets/*.js assets/*.svg
var assets embed.FS

// asset is a file that pages load. Its URL contains a part of its hash, so browsers may cache it forever.
type asset struct {
	content []byte
	hash    string
}

var assetFiles = readAssets()

func readAssets() map[string]asset {
	all := map[string]asset{}
	entries, err := fs.ReadDir(assets, "assets")
	if err != nil {
		panic(err) // they are part of the program
	}
	for _, entry := range entries {
		content, err := assets.ReadFile("assets/" + entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		all[entry.Name()] = asset{content, hex.EncodeToString(sum[:])}
	}
	return all
}

func assetPath(name string) string {
	return Home + "/assets/" + assetFiles[name].hash[:12] + "/" + name
}

func (f *Frame) asset(ctx *fiber.Ctx) error {
	name := ctx.Params("name")
	file, ok := assetFiles[name]
	if !ok {
		return event.ErrNotFound
	}
	ctx.Set(fiber.HeaderContentType, mime.TypeByExtension(path.Ext(name)))
	if ctx.Params("version") == file.hash[:12] { // a page of another build uses another URL
		ctx.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	}
	return ctx.Send(file.content)
}
