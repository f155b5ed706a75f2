BEGIN TRANSACTION;
CREATE TABLE events (
	id INTEGER NOT NULL, 
	t FLOAT NOT NULL, 
	type TEXT NOT NULL, 
	node TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1099511627777,1.76000000089670586593e+09,'run_started','','{"worker":{"kind":"function","options":{"function":"golden_work:work"}},"sol":"model","sol_model":null,"luna_model":"local","base_url":null,"workspace":"{WORKSPACE}","assignment":{"goal":"build the hut of wood","context":"none","inputs":{"wood":"oak"},"constraints":[],"expected_output":{"description":"the hut"},"success_criteria":[{"text":"it stands"},{"command":"test -f golden.yaml"}],"stop_conditions":["a brick has no colour"]},"inputs":{},"result_file":null,"files":{"strategy":"{WORKSPACE}/judged.yaml"},"strategy":{"name":"judged","description":"As golden, with a rule that asks Sol what words mean.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"ai(\"is the result something else than what was asked for?\")","next":"split"},{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}},"file_strategy":{"name":"judged","description":"As golden, with a rule that asks Sol what words mean.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"ai(\"is the result something else than what was asked for?\")","next":"split"},{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(1099511627778,1.76000000089670586593e+09,'created','','{"assignment":{"goal":"build the hut of wood","context":"none","inputs":{"wood":"oak"},"constraints":[],"expected_output":{"description":"the hut"},"success_criteria":[{"text":"it stands"},{"command":"test -f golden.yaml"}],"stop_conditions":["a brick has no colour"]}}');
INSERT INTO "events" VALUES(1099511627779,1.76000000089670586593e+09,'started','','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627780,1.76000000091767549517e+09,'progressed','','{"kind":"attempt","n":1,"usage":{"tokens":120,"cost":0.001},"event":{"type":"spent","usage":{"calls":0,"tokens":120,"cost":0.001,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627781,1.76000000091767549517e+09,'reported','','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.007289,"report":{"blocker":"build the hut of wood is more than one thing","known":["there is wood"],"unknown":["how much of it"],"status":"STUCK","kind":"other"}}');
INSERT INTO "events" VALUES(1099511627782,1.76000000091767549517e+09,'stopped','','{"n":1}');
INSERT INTO "events" VALUES(1099511627783,1.76000000091767549517e+09,'analysed','','{"kind":"other","blocker":"build the hut of wood is more than one thing","unknown":["how much of it"]}');
INSERT INTO "events" VALUES(1099511627784,1.76000000091767549517e+09,'decided','','{"section":"report","rule":1,"kind":"label","condition":"STUCK","next":"split"}');
INSERT INTO "events" VALUES(1099511627785,1.76000000091767549517e+09,'started','','{"kind":"split","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627786,1.76000000092215394976e+09,'answer','','{"kind":"split","n":1,"answer":{"children":[{"goal":"build the hut of wood","claim":"simpler","success_criteria":[{"text":"done: build the hut of wood"}],"expected_output":null,"inputs":null,"worker":null},{"goal":"sweep the floor of the hut","claim":"simpler","success_criteria":[{"text":"done: sweep the floor of the hut"}],"expected_output":null,"inputs":null,"worker":null}],"sequential":false,"dimension":"data_logic","reason":"two things","how":"model"},"usage":{"calls":1},"seconds":0.000125}');
INSERT INTO "events" VALUES(1099511627787,1.76000000092215394976e+09,'refused','','{"what":"split","kind":"no_progress_split","reason":"child 0 is the same task as its parent","goals":["build the hut of wood","sweep the floor of the hut"]}');
INSERT INTO "events" VALUES(1099511627788,1.76000000092215394976e+09,'started','','{"kind":"split","n":2,"because":{"new":"constraint","refused":"child 0 is the same task as its parent"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627789,1.76000000092743396759e+09,'answer','','{"kind":"split","n":2,"answer":{"children":[{"goal":"draw the hut on paper","claim":"simpler","success_criteria":[{"text":"done: draw the hut on paper"}],"expected_output":null,"inputs":null,"worker":null},{"goal":"raise the walls of the hut","claim":"simpler","success_criteria":[{"text":"done: raise the walls of the hut"}],"expected_output":null,"inputs":null,"worker":null}],"sequential":true,"dimension":"data_logic","reason":"two things","how":"model"},"usage":{"calls":1},"seconds":0.000108}');
INSERT INTO "events" VALUES(1099511627790,1.76000000092743396759e+09,'split','','{"children":["0","1"],"goals":["draw the hut on paper","raise the walls of the hut"],"how":"model","dimension":"data_logic","sequential":true,"reason":"two things","because":"other"}');
INSERT INTO "events" VALUES(1099511627791,1.76000000092743396759e+09,'created','0','{"assignment":{"goal":"draw the hut on paper","success_criteria":[{"text":"done: draw the hut on paper"}],"expected_output":{"description":"The result of: draw the hut on paper"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627792,1.76000000092743396759e+09,'created','1','{"assignment":{"goal":"raise the walls of the hut","success_criteria":[{"text":"done: raise the walls of the hut"}],"expected_output":{"description":"The result of: raise the walls of the hut"}},"claim":"simpler","after":"0"}');
INSERT INTO "events" VALUES(1099511627793,1.76000000092743396759e+09,'started','0','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627794,1.76000000093768787382e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to draw the hut on paper."}}');
INSERT INTO "events" VALUES(1099511627795,1.76000000093768787382e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"draw the hut on paper"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627796,1.76000000093768787382e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"draw the hut on paper","again":false}}}');
INSERT INTO "events" VALUES(1099511627797,1.76000000093768787382e+09,'progressed','0','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627798,1.76000000093768787382e+09,'reported','0','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.00542,"report":{"summary":"done","result":{"did":"draw the hut on paper","answer":""},"evidence":["seen"],"status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627799,1.76000000093768787382e+09,'decided','0','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(1099511627800,1.76000000093768787382e+09,'checked','0','{"kind":"check","n":0,"results":[{"criterion":"done: draw the hut on paper","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627801,1.76000000093768787382e+09,'started','0','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627802,1.76000000094175720216e+09,'answer','0','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":8.3e-05}');
INSERT INTO "events" VALUES(1099511627803,1.76000000094175720216e+09,'decided','0','{"section":"validation","labels":["passed"],"wait":true}');
INSERT INTO "events" VALUES(1099511627804,1.76000000094175720216e+09,'started','0','{"kind":"rule","n":1,"because":{"rule":"validation/0","question":"is the result something else than what was asked for?"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627805,1.76000000094616317752e+09,'answer','0','{"kind":"rule","n":1,"answer":{"holds":false,"reason":"it is what was asked for"},"usage":{"calls":1},"seconds":7.3e-05}');
INSERT INTO "events" VALUES(1099511627806,1.76000000094616317752e+09,'decided','0','{"section":"validation","rule":1,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627807,1.76000000094616317752e+09,'settled','0','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627808,1.76000000094616317752e+09,'started','1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627809,1.76000000095321798327e+09,'progressed','1','{"kind":"attempt","n":1,"usage":{"tokens":120,"cost":0.001},"event":{"type":"spent","usage":{"calls":0,"tokens":120,"cost":0.001,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627810,1.76000000095321798327e+09,'reported','1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.003135,"report":{"blocker":"raise the walls of the hut is more than one thing","known":["there is wood"],"unknown":["how much of it"],"status":"STUCK","kind":"other"}}');
INSERT INTO "events" VALUES(1099511627811,1.76000000095321798327e+09,'stopped','1','{"n":1}');
INSERT INTO "events" VALUES(1099511627812,1.76000000095321798327e+09,'analysed','1','{"kind":"other","blocker":"raise the walls of the hut is more than one thing","unknown":["how much of it"]}');
INSERT INTO "events" VALUES(1099511627813,1.76000000095321798327e+09,'decided','1','{"section":"report","rule":1,"kind":"label","condition":"STUCK","next":"split"}');
INSERT INTO "events" VALUES(1099511627814,1.76000000095321798327e+09,'started','1','{"kind":"split","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627815,1.76000000095723938943e+09,'answer','1','{"kind":"split","n":1,"answer":{"children":[{"goal":"cut the planks of the walls","claim":"simpler","success_criteria":[{"text":"done: cut the planks of the walls"}],"expected_output":null,"inputs":null,"worker":null},{"goal":"frame the roof of the hut","claim":"simpler","success_criteria":[{"text":"done: frame the roof of the hut"}],"expected_output":null,"inputs":null,"worker":null}],"sequential":false,"dimension":"data_logic","reason":"two things","how":"model"},"usage":{"calls":1},"seconds":0.000188}');
INSERT INTO "events" VALUES(1099511627816,1.76000000095723938943e+09,'split','1','{"children":["10","11"],"goals":["cut the planks of the walls","frame the roof of the hut"],"how":"model","dimension":"data_logic","sequential":false,"reason":"two things","because":"other"}');
INSERT INTO "events" VALUES(1099511627817,1.76000000095723938943e+09,'created','10','{"assignment":{"goal":"cut the planks of the walls","success_criteria":[{"text":"done: cut the planks of the walls"}],"expected_output":{"description":"The result of: cut the planks of the walls"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627818,1.76000000095723938943e+09,'created','11','{"assignment":{"goal":"frame the roof of the hut","success_criteria":[{"text":"done: frame the roof of the hut"}],"expected_output":{"description":"The result of: frame the roof of the hut"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627819,1.76000000095723938943e+09,'started','10','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627820,1.76000000095723938943e+09,'started','11','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627821,1.76000000097407245636e+09,'progressed','10','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to cut the planks of the walls."}}');
INSERT INTO "events" VALUES(1099511627822,1.76000000097407245636e+09,'progressed','10','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"cut the planks of the walls"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627823,1.76000000097407245636e+09,'progressed','10','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"cut the planks of the walls","again":false}}}');
INSERT INTO "events" VALUES(1099511627824,1.76000000097407245636e+09,'progressed','10','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627825,1.76000000097407245636e+09,'progressed','11','{"kind":"attempt","n":1,"usage":{"tokens":120,"cost":0.001},"event":{"type":"spent","usage":{"calls":0,"tokens":120,"cost":0.001,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627826,1.76000000097407245636e+09,'reported','10','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.012376,"report":{"summary":"done","result":{"did":"cut the planks of the walls","answer":""},"evidence":["seen"],"status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627827,1.76000000097407245636e+09,'decided','10','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(1099511627828,1.76000000097407245636e+09,'checked','10','{"kind":"check","n":0,"results":[{"criterion":"done: cut the planks of the walls","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627829,1.76000000097407245636e+09,'reported','11','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.012348,"report":{"blocker":"frame the roof of the hut is more than one thing","known":["there is wood"],"unknown":["how much of it"],"status":"STUCK","kind":"other"}}');
INSERT INTO "events" VALUES(1099511627830,1.76000000097407245636e+09,'stopped','11','{"n":1}');
INSERT INTO "events" VALUES(1099511627831,1.76000000097407245636e+09,'analysed','11','{"kind":"other","blocker":"frame the roof of the hut is more than one thing","unknown":["how much of it"]}');
INSERT INTO "events" VALUES(1099511627832,1.76000000097407245636e+09,'decided','11','{"section":"report","rule":1,"kind":"label","condition":"STUCK","next":"split"}');
INSERT INTO "events" VALUES(1099511627833,1.76000000097407245636e+09,'started','10','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627834,1.76000000097407245636e+09,'started','11','{"kind":"split","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627835,1760000000.97898,'answer','10','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":0.000102}');
INSERT INTO "events" VALUES(1099511627836,1760000000.97898,'decided','10','{"section":"validation","labels":["passed"],"wait":true}');
INSERT INTO "events" VALUES(1099511627837,1760000000.97898,'answer','11','{"kind":"split","n":1,"answer":{"children":[{"goal":"cut the beams of the roof","claim":"simpler","success_criteria":[{"text":"done: cut the beams of the roof"}],"expected_output":null,"inputs":null,"worker":null},{"goal":"lay the shingles of the roof","claim":"simpler","success_criteria":[{"text":"done: lay the shingles of the roof"}],"expected_output":null,"inputs":null,"worker":null}],"sequential":false,"dimension":"data_logic","reason":"two things","how":"model"},"usage":{"calls":1},"seconds":4.6e-05}');
INSERT INTO "events" VALUES(1099511627838,1760000000.97898,'split','11','{"children":["110","111"],"goals":["cut the beams of the roof","lay the shingles of the roof"],"how":"model","dimension":"data_logic","sequential":false,"reason":"two things","because":"other"}');
INSERT INTO "events" VALUES(1099511627839,1760000000.97898,'created','110','{"assignment":{"goal":"cut the beams of the roof","success_criteria":[{"text":"done: cut the beams of the roof"}],"expected_output":{"description":"The result of: cut the beams of the roof"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627840,1760000000.97898,'created','111','{"assignment":{"goal":"lay the shingles of the roof","success_criteria":[{"text":"done: lay the shingles of the roof"}],"expected_output":{"description":"The result of: lay the shingles of the roof"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627841,1760000000.97898,'started','10','{"kind":"rule","n":1,"because":{"rule":"validation/0","question":"is the result something else than what was asked for?"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627842,1760000000.97898,'started','110','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627843,1760000000.97898,'started','111','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627844,1.76000000099862885473e+09,'answer','10','{"kind":"rule","n":1,"answer":{"holds":false,"reason":"it is what was asked for"},"usage":{"calls":1},"seconds":6.5e-05}');
INSERT INTO "events" VALUES(1099511627845,1.76000000099862885473e+09,'decided','10','{"section":"validation","rule":1,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627846,1.76000000099862885473e+09,'settled','10','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627847,1.76000000099862885473e+09,'progressed','110','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to cut the beams of the roof."}}');
INSERT INTO "events" VALUES(1099511627848,1.76000000099862885473e+09,'progressed','110','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"cut the beams of the roof"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627849,1.76000000099862885473e+09,'progressed','110','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"cut the beams of the roof","again":false}}}');
INSERT INTO "events" VALUES(1099511627850,1.76000000099862885473e+09,'progressed','110','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627851,1.76000000100296592709e+09,'reported','110','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.01378,"report":{"summary":"done","result":{"did":"cut the beams of the roof","answer":""},"evidence":["seen"],"status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627852,1.76000000100296592709e+09,'decided','110','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(1099511627853,1.76000000100296592709e+09,'checked','110','{"kind":"check","n":0,"results":[{"criterion":"done: cut the beams of the roof","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627854,1.76000000100296592709e+09,'progressed','111','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to lay the shingles of the roof."}}');
INSERT INTO "events" VALUES(1099511627855,1.76000000100296592709e+09,'progressed','111','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"lay the shingles of the roof"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627856,1.76000000100296592709e+09,'progressed','111','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"lay the shingles of the roof","again":false}}}');
INSERT INTO "events" VALUES(1099511627857,1.76000000100296592709e+09,'progressed','111','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627858,1.76000000100296592709e+09,'reported','111','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.01429,"report":{"summary":"done","result":{"did":"lay the shingles of the roof","answer":""},"evidence":["seen"],"status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627859,1.76000000100296592709e+09,'decided','111','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(1099511627860,1.76000000100296592709e+09,'checked','111','{"kind":"check","n":0,"results":[{"criterion":"done: lay the shingles of the roof","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627861,1.76000000100296592709e+09,'started','110','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627862,1.76000000100296592709e+09,'started','111','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627863,1.76000000100720167157e+09,'answer','110','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":6.3e-05}');
INSERT INTO "events" VALUES(1099511627864,1.76000000100720167157e+09,'decided','110','{"section":"validation","labels":["passed"],"wait":true}');
INSERT INTO "events" VALUES(1099511627865,1.76000000100720167157e+09,'answer','111','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":8.6e-05}');
INSERT INTO "events" VALUES(1099511627866,1.76000000100720167157e+09,'decided','111','{"section":"validation","labels":["passed"],"wait":true}');
INSERT INTO "events" VALUES(1099511627867,1.76000000100720167157e+09,'started','110','{"kind":"rule","n":1,"because":{"rule":"validation/0","question":"is the result something else than what was asked for?"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627868,1.76000000100720167157e+09,'started','111','{"kind":"rule","n":1,"because":{"rule":"validation/0","question":"is the result something else than what was asked for?"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627869,1.76000000101171278949e+09,'answer','110','{"kind":"rule","n":1,"answer":{"holds":false,"reason":"it is what was asked for"},"usage":{"calls":1},"seconds":8.8e-05}');
INSERT INTO "events" VALUES(1099511627870,1.76000000101171278949e+09,'decided','110','{"section":"validation","rule":1,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627871,1.76000000101171278949e+09,'settled','110','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627872,1.76000000101171278949e+09,'answer','111','{"kind":"rule","n":1,"answer":{"holds":false,"reason":"it is what was asked for"},"usage":{"calls":1},"seconds":4.7e-05}');
INSERT INTO "events" VALUES(1099511627873,1.76000000101171278949e+09,'decided','111','{"section":"validation","rule":1,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627874,1.76000000101171278949e+09,'settled','111','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627875,1.76000000101171278949e+09,'decided','11','{"section":"children","rule":0,"kind":"aggregate","condition":"all(\"success\")","next":"integrate","read":{"children":[["110","success"],["111","success"]]}}');
INSERT INTO "events" VALUES(1099511627876,1.76000000101171278949e+09,'started','11','{"kind":"integrate","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627877,1.76000000101585721973e+09,'answer','11','{"kind":"integrate","n":1,"answer":{"result":{"110":{"did":"cut the beams of the roof","answer":""},"111":{"did":"lay the shingles of the roof","answer":""}},"summary":"put together","checks":{"no_contradiction":{"ok":true,"note":"about no_contradiction"},"interfaces_agree":{"ok":true,"note":"about interfaces_agree"},"goal_met":{"ok":true,"note":"about goal_met"},"nothing_open":{"ok":true,"note":"about nothing_open"},"parts_imply_whole":{"ok":true,"note":"about parts_imply_whole"}},"open":[]},"usage":{"calls":1},"seconds":0.000155}');
INSERT INTO "events" VALUES(1099511627878,1.76000000101585721973e+09,'checked','11','{"kind":"check","n":0,"results":[{"criterion":"done: frame the roof of the hut","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627879,1.76000000101585721973e+09,'started','11','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627880,1.76000000102001118661e+09,'answer','11','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":4.7e-05}');
INSERT INTO "events" VALUES(1099511627881,1.76000000102001118661e+09,'decided','11','{"section":"validation","labels":["passed","integrated"],"wait":true}');
INSERT INTO "events" VALUES(1099511627882,1.76000000102001118661e+09,'started','11','{"kind":"rule","n":1,"because":{"rule":"validation/0","question":"is the result something else than what was asked for?"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627883,1.7600000010243544578e+09,'answer','11','{"kind":"rule","n":1,"answer":{"holds":false,"reason":"it is what was asked for"},"usage":{"calls":1},"seconds":5.3e-05}');
INSERT INTO "events" VALUES(1099511627884,1.7600000010243544578e+09,'decided','11','{"section":"validation","rule":1,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627885,1.7600000010243544578e+09,'settled','11','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627886,1.7600000010243544578e+09,'decided','1','{"section":"children","rule":0,"kind":"aggregate","condition":"all(\"success\")","next":"integrate","read":{"children":[["10","success"],["11","success"]]}}');
INSERT INTO "events" VALUES(1099511627887,1.7600000010243544578e+09,'started','1','{"kind":"integrate","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627888,1.76000000102815294267e+09,'answer','1','{"kind":"integrate","n":1,"answer":{"result":{"10":{"did":"cut the planks of the walls","answer":""},"11":{"110":{"did":"cut the beams of the roof","answer":""},"111":{"did":"lay the shingles of the roof","answer":""}}},"summary":"put together","checks":{"no_contradiction":{"ok":true,"note":"about no_contradiction"},"interfaces_agree":{"ok":true,"note":"about interfaces_agree"},"goal_met":{"ok":true,"note":"about goal_met"},"nothing_open":{"ok":true,"note":"about nothing_open"},"parts_imply_whole":{"ok":true,"note":"about parts_imply_whole"}},"open":[]},"usage":{"calls":1},"seconds":4.6e-05}');
INSERT INTO "events" VALUES(1099511627889,1.76000000102815294267e+09,'checked','1','{"kind":"check","n":0,"results":[{"criterion":"done: raise the walls of the hut","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627890,1.76000000102815294267e+09,'started','1','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627891,1.76000000103198575972e+09,'answer','1','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":0.00016}');
INSERT INTO "events" VALUES(1099511627892,1.76000000103198575972e+09,'decided','1','{"section":"validation","labels":["passed","integrated"],"wait":true}');
INSERT INTO "events" VALUES(1099511627893,1.76000000103198575972e+09,'started','1','{"kind":"rule","n":1,"because":{"rule":"validation/0","question":"is the result something else than what was asked for?"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627894,1.76000000103557848927e+09,'answer','1','{"kind":"rule","n":1,"answer":{"holds":false,"reason":"it is what was asked for"},"usage":{"calls":1},"seconds":4.8e-05}');
INSERT INTO "events" VALUES(1099511627895,1.76000000103557848927e+09,'decided','1','{"section":"validation","rule":1,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627896,1.76000000103557848927e+09,'settled','1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627897,1.76000000103557848927e+09,'decided','','{"section":"children","rule":0,"kind":"aggregate","condition":"all(\"success\")","next":"integrate","read":{"children":[["0","success"],["1","success"]]}}');
INSERT INTO "events" VALUES(1099511627898,1.76000000103557848927e+09,'started','','{"kind":"integrate","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627899,1.76000000103917860977e+09,'answer','','{"kind":"integrate","n":1,"answer":{"result":{"0":{"did":"draw the hut on paper","answer":""},"1":{"10":{"did":"cut the planks of the walls","answer":""},"11":{"110":{"did":"cut the beams of the roof","answer":""},"111":{"did":"lay the shingles of the roof","answer":""}}}},"summary":"put together","checks":{"no_contradiction":{"ok":true,"note":"about no_contradiction"},"interfaces_agree":{"ok":true,"note":"about interfaces_agree"},"goal_met":{"ok":true,"note":"about goal_met"},"nothing_open":{"ok":true,"note":"about nothing_open"},"parts_imply_whole":{"ok":true,"note":"about parts_imply_whole"}},"open":[]},"usage":{"calls":1},"seconds":4.9e-05}');
INSERT INTO "events" VALUES(1099511627900,1.76000000103917860977e+09,'started','','{"kind":"check","n":1}');
INSERT INTO "events" VALUES(1099511627901,1.76000000105064296727e+09,'checked','','{"kind":"check","n":1,"results":[{"criterion":"text: it stands","kind":"text","ok":null,"detail":"not checked here"},{"criterion":"command: test -f golden.yaml","kind":"command","ok":true,"detail":""}],"seconds":0.007725}');
INSERT INTO "events" VALUES(1099511627902,1.76000000105064296727e+09,'started','','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627903,1.76000000105473661422e+09,'answer','','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":9.3e-05}');
INSERT INTO "events" VALUES(1099511627904,1.76000000105473661422e+09,'decided','','{"section":"validation","labels":["passed","integrated"],"wait":true}');
INSERT INTO "events" VALUES(1099511627905,1.76000000105473661422e+09,'started','','{"kind":"rule","n":1,"because":{"rule":"validation/0","question":"is the result something else than what was asked for?"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627906,1.76000000105891013144e+09,'answer','','{"kind":"rule","n":1,"answer":{"holds":false,"reason":"it is what was asked for"},"usage":{"calls":1},"seconds":5.3e-05}');
INSERT INTO "events" VALUES(1099511627907,1.76000000105891013144e+09,'decided','','{"section":"validation","rule":1,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627908,1.76000000105891013144e+09,'settled','','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627909,1.76000000105891013144e+09,'run_status','','{"status":"success"}');
CREATE TABLE requests (
	id INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	t FLOAT NOT NULL, 
	"by" TEXT NOT NULL, 
	taken INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(run) REFERENCES runs (no)
);
CREATE TABLE runs (
	no INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	created_t FLOAT NOT NULL, 
	title TEXT NOT NULL, 
	meta TEXT NOT NULL, 
	status TEXT NOT NULL, 
	summary TEXT, 
	seq INTEGER NOT NULL, 
	updated_t FLOAT NOT NULL, 
	epoch INTEGER NOT NULL, 
	host TEXT, 
	pid INTEGER, 
	started FLOAT, 
	token TEXT, 
	claimed_t FLOAT, 
	beat_t FLOAT, 
	PRIMARY KEY (no), 
	UNIQUE (id)
);
INSERT INTO "runs" VALUES(1,'m6qszf',1.76000000001727771757e+09,'build the hut of wood','{}','success','{"nodes":7,"calls":28,"tokens":1560,"cost":0.011000000000000001,"elapsed_s":0.829}',133,1.76000000105891013144e+09,1,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sol_journal (
	version INTEGER NOT NULL
);
INSERT INTO "sol_journal" VALUES(1);
CREATE INDEX requests_waiting ON requests (run) WHERE taken IS NULL;
COMMIT;
