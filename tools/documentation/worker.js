// A Worker for pages that are opened from disk, where browsers start none: its script runs in a
// hidden frame instead. The search looks for `IFrameWorker` in the parent of that frame.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      this.frame.onload = () => this.start(this.frame.contentWindow, address);
      document.documentElement.append(this.frame);
    }

    start(inside, address) {
      if (this.inside === inside && inside.importScripts) return;
      this.inside = inside;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...files) =>
        files.reduce((before, file) => before.then(() => this.load(file)), Promise.resolve());
      this.load(address).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      });
    }

    load(file) {
      return new Promise((loaded, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = file;
        script.onload = loaded;
        script.onerror = failed;
        this.inside.document.body.append(script);
      });
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
