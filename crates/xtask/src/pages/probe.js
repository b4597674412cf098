"use strict";
(function () {
  var wrong = [];
  function check(is, what) {
    if (!is) wrong.push(what);
  }
  addEventListener("error", function (event) { wrong.push("error: " + event.message); });
  document.addEventListener("securitypolicyviolation", function (event) {
    wrong.push("policy: " + event.violatedDirective + " " + event.blockedURI);
  });
  function luminance(colour) {
    var parts = colour.match(/[\d.]+/g).slice(0, 3).map(function (part) {
      var value = part / 255;
      return value <= 0.04045 ? value / 12.92 : Math.pow((value + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  }
  function behind(element) {
    for (; element; element = element.parentElement) {
      var colour = getComputedStyle(element).backgroundColor;
      if (!/, 0\)$|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  }
  function isSeen(element) {
    return element.getClientRects().length > 0;
  }
  function contrasts(theme) {
    var seen = {};
    document.querySelectorAll("body *").forEach(function (element) {
      var own = Array.prototype.some.call(element.childNodes, function (node) {
        return node.nodeType === 3 && node.textContent.trim();
      });
      if (!own || !isSeen(element) || /^(SCRIPT|TITLE|DESC)$/i.test(element.tagName)) return;
      var style = getComputedStyle(element);
      var front = element.namespaceURI.indexOf("svg") > 0 ? style.fill : style.color;
      var pair = front + " on " + behind(element);
      if (seen[pair]) return;
      seen[pair] = true;
      var both = [luminance(front), luminance(behind(element))].sort(function (a, b) { return b - a; });
      var ratio = (both[0] + 0.05) / (both[1] + 0.05);
      check(ratio >= 4.5, theme + ": " + pair + " has " + ratio.toFixed(2) + " in " + element.tagName);
    });
  }
  function choose(id) {
    var input = document.getElementById(id);
    input.click();
    check(input.checked, id + " cannot be chosen");
  }
  function isShown(lang) {
    return isSeen(document.querySelector("main[lang=" + lang + "]"));
  }
  addEventListener("load", function () {
    var root = document.documentElement;
    // Parts far below are laid out when they are scrolled to: here all of them are.
    document.querySelectorAll(".part").forEach(function (one) {
      check(getComputedStyle(one).contentVisibility === "auto", "a part far below is laid out at once");
      one.style.contentVisibility = "visible";
    });
    [["en", "ja"], ["ja", "en"]].forEach(function (pair) {
      choose("lang-" + pair[0]);
      check(isShown(pair[0]) && !isShown(pair[1]), "not in " + pair[0] + " alone");
      check(root.lang === pair[0], "the language told is " + root.lang);
      var title = document.querySelector("h1 [lang=" + pair[0] + "]").textContent;
      check(document.title === title, "the title of another language");
      [["light", "rgb(255, 255, 255)"], ["dark", "rgb(18, 18, 18)"]].forEach(function (theme) {
        choose("theme-" + theme[0]);
        var colour = getComputedStyle(document.body).backgroundColor;
        check(colour === theme[1], theme[0] + " is " + colour);
        contrasts(theme[0]);
      });
      document.querySelectorAll("details").forEach(function (one) { one.open = true; });
      document.querySelectorAll(".long").forEach(function (one) {
        if (!isSeen(one)) return;
        one.querySelector("button").click();
        check(one.querySelector("canvas") && !one.querySelector("button"), "a series cannot be looked into");
      });
      check(root.scrollWidth <= root.clientWidth, pair[0] + ": " + root.scrollWidth + " px wide");
      document.querySelectorAll("label, button, summary, nav a").forEach(function (one) {
        if (!isSeen(one)) return;
        var box = one.getBoundingClientRect();
        check(box.width >= 24 && box.height >= 24, one.textContent + " is " + box.width + " x " + box.height);
      });
      document.querySelectorAll("svg text").forEach(function (one) {
        if (!isSeen(one)) return;
        var size = 15 * one.ownerSVGElement.getScreenCTM().a;
        check(size >= 10.9, "letters of " + size.toFixed(1) + " px: " + one.textContent);
      });
    });
    check(document.querySelectorAll(".save[hidden]").length === 0, "nothing can be saved");
    document.querySelectorAll("script[type='application/json']").forEach(function (one) {
      try { JSON.parse(one.textContent); } catch (error) { wrong.push("figures: " + error.message); }
    });
    setTimeout(function () {
      var asked = performance.getEntriesByType("resource").map(function (one) { return one.name; });
      asked = asked.filter(function (name) { return name.indexOf("data:") !== 0; });
      check(asked.length === 0, "asks for " + asked.join(" "));
      parent.postMessage(innerWidth + " px: " + (wrong.length ? wrong.slice(0, 8).join(" | ") : "fine"), "*");
    }, 200);
  });
})();
