// colly-peer SEEDS-FILE OUT-DIR CONCURRENCY CA-FILE: the seeds' hosts, asynchronously; keeps a gzip file a page.
package main

import (
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gocolly/colly/v2"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	seeds, out := strings.Fields(string(text)), os.Args[2]
	concurrency, _ := strconv.Atoi(os.Args[3])
	hosts := []string{}
	for _, seed := range seeds {
		parsed, _ := url.Parse(seed)
		hosts = append(hosts, parsed.Hostname())
	}
	c := colly.NewCollector(colly.Async(true), colly.AllowedDomains(hosts...), colly.UserAgent("colly-peer"))
	c.IgnoreRobotsTxt = false
	c.MaxBodySize = 20_000_000
	_ = c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: concurrency})
	roots := x509.NewCertPool()
	if len(os.Args) > 4 {
		if pem, err := os.ReadFile(os.Args[4]); err == nil {
			roots.AppendCertsFromPEM(pem)
		}
	}
	c.WithTransport(&http.Transport{
		MaxIdleConnsPerHost: 8, MaxIdleConns: 4096, TLSClientConfig: &tls.Config{RootCAs: roots},
	})
	c.OnResponse(func(r *colly.Response) {
		sum := fnv.New128a()
		sum.Write([]byte(r.Request.URL.String()))
		file, err := os.Create(filepath.Join(out, fmt.Sprintf("%x.gz", sum.Sum(nil))))
		if err != nil {
			return
		}
		packed := gzip.NewWriter(file)
		_, _ = packed.Write(r.Body)
		_ = packed.Close()
		_ = file.Close()
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = e.Request.Visit(e.Attr("href")) })
	for _, seed := range seeds {
		_ = c.Visit(seed)
	}
	c.Wait()
}
